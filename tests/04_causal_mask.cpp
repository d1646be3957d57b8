/// @file
/// @brief What chapter 04 says about the causal mask and about dropout, as tests.

#include <optional>

#include "common/measure.hpp"
#include "common/random.hpp"
#include "common/tensor.hpp"
#include "common/text.hpp"
#include "reference.hpp"
#include "support.hpp"

namespace chapter_03 {
#include "chapters/03_scaling/attention.hpp"
}

#include "attention.hpp"

namespace {

constexpr Real minus_infinity = -std::numeric_limits<Real>::infinity();

/// A matrix from a rule for its entries.
template <class Entry>
Matrix matrix_of(std::size_t rows, std::size_t columns, const Entry& entry) {
  Matrix m = reference::make(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) m(i, j) = entry(i, j);
  }
  return m;
}

/// The first so many rows.
Matrix first_rows(const Matrix& m, std::size_t count) {
  return matrix_of(count, m.shape(1), [&](std::size_t i, std::size_t j) { return m(i, j); });
}

bool all_zero(const Matrix& m) {
  return std::all_of(m.begin(), m.end(), [](Real entry) { return entry == 0; });
}

// --- masks -------------------------------------------------------------------------------------

/// 0 where `is_visible(i, j)`, −∞ elsewhere.
template <class IsVisible>
Matrix mask_where(std::size_t rows, std::size_t columns, const IsVisible& is_visible) {
  return matrix_of(rows, columns, [&](std::size_t i, std::size_t j) {
    return is_visible(i, j) ? Real(0) : minus_infinity;
  });
}

bool hides(const Matrix& mask, std::size_t i, std::size_t j) {
  return mask(i, j) == minus_infinity;
}

Matrix all_zero_mask(std::size_t T) {
  return reference::make(T, T);
}

Matrix causal(std::size_t rows, std::size_t columns) {
  return mask_where(rows, columns, [](std::size_t i, std::size_t j) { return j <= i; });
}

Matrix without_diagonal(std::size_t rows, std::size_t columns) {
  return mask_where(rows, columns, [](std::size_t i, std::size_t j) { return j < i; });
}

Matrix one_too_far(std::size_t rows, std::size_t columns) {
  return mask_where(rows, columns, [](std::size_t i, std::size_t j) { return j <= i + 1; });
}

Matrix only_next_hidden(std::size_t rows, std::size_t columns) {
  return mask_where(rows, columns, [](std::size_t i, std::size_t j) { return j != i + 1; });
}

Matrix inverted(const Matrix& mask) {
  return mask_where(mask.shape(0), mask.shape(1),
                    [&](std::size_t i, std::size_t j) { return hides(mask, i, j); });
}

/// Any pattern, but no row is hidden altogether.
Matrix random_mask(std::size_t rows, std::size_t columns, Generator& generator) {
  Matrix mask = mask_where(
      rows, columns, [&](std::size_t, std::size_t) { return generator.uniform(0, 1) < Real(0.5); });
  for (std::size_t i = 0; i < rows; ++i) mask(i, (3 * i + 1) % columns) = 0;
  return mask;
}

// --- masked attention by loops, and the usual ways to get it wrong -------------------------------

/// The softmax of what the mask leaves of each row; zeros in a row that is hidden altogether.
Matrix masked_softmax(const Matrix& scores, const Matrix& mask) {
  Matrix weights = reference::make(scores.shape(0), scores.shape(1));
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      if (!hides(mask, i, j)) largest = std::fmax(largest, static_cast<double>(scores(i, j)));
    }
    double total = 0;
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      if (!hides(mask, i, j)) total += std::exp(static_cast<double>(scores(i, j)) - largest);
    }
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      if (hides(mask, i, j)) continue;
      weights(i, j) =
          static_cast<Real>(std::exp(static_cast<double>(scores(i, j)) - largest) / total);
    }
  }
  return weights;
}

/// The entries that the mask hides, replaced by a number.
Matrix filled(const Matrix& m, const Matrix& mask, Real number) {
  return matrix_of(m.shape(0), m.shape(1), [&](std::size_t i, std::size_t j) {
    return hides(mask, i, j) ? number : m(i, j);
  });
}

/// The entries that the mask hides, with a number added.
Matrix lowered(const Matrix& m, const Matrix& mask, Real number) {
  return matrix_of(m.shape(0), m.shape(1), [&](std::size_t i, std::size_t j) {
    return hides(mask, i, j) ? m(i, j) + number : m(i, j);
  });
}

/// Each row divided by its sum; a row of zeros stays one.
Matrix renormalised(const Matrix& weights) {
  Matrix result = weights;
  for (std::size_t i = 0; i < weights.shape(0); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < weights.shape(1); ++j) sum += static_cast<double>(weights(i, j));
    for (std::size_t j = 0; j < weights.shape(1) && sum > 0; ++j) {
      result(i, j) = static_cast<Real>(static_cast<double>(weights(i, j)) / sum);
    }
  }
  return result;
}

/// The scores over √d_k.
Matrix scaled_scores(const Matrix& queries, const Matrix& keys) {
  return reference::divided(reference::dot_products(queries, keys),
                            std::sqrt(static_cast<double>(keys.shape(1))));
}

/// The mask in the first rows and columns only.
Matrix up_to(const Matrix& mask, std::size_t length) {
  return matrix_of(mask.shape(0), mask.shape(1), [&](std::size_t i, std::size_t j) {
    return i < length && j < length ? mask(i, j) : Real{0};
  });
}

MatrixMatcher are_the_masked_weights(const Matrix& scaled, const Matrix& mask) {
  auto matcher = equals(masked_softmax(scaled, mask));
  const auto softmax_of = [&](auto scores) {
    return [=] { return reference::softmax(scores(scaled, mask)); };
  };
  const auto masked_by = [&](auto wrong) {
    return [=] { return masked_softmax(scaled, wrong(mask)); };
  };
  matcher
      .unless("there is no mask: every row attends to every token",
              softmax_of([](const Matrix& s, const Matrix&) { return s; }))
      .unless("the mask comes after softmax, and the rows are not renormalised",
              [=] { return filled(reference::softmax(scaled), mask, 0); })
      .unless("the hidden scores became 0 in place of −∞, and e^0 is 1",
              softmax_of([](const Matrix& s, const Matrix& m) { return filled(s, m, 0); }))
      .unless("−20 was added in place of −∞",
              softmax_of([](const Matrix& s, const Matrix& m) { return lowered(s, m, -20); }))
      .unless("the hidden scores became −20 in place of −∞",
              softmax_of([](const Matrix& s, const Matrix& m) { return filled(s, m, -20); }))
      .unless("the mask is inverted: it hides what it should leave", masked_by(inverted))
      .unless("softmax is applied twice, and the second time without the mask",
              [=] { return reference::softmax(masked_softmax(scaled, mask)); })
      .unless("the scores are lost: these are the weights of the mask alone",
              softmax_of([](const Matrix& s, const Matrix& m) {
                return matrix_of(s.shape(0), s.shape(1), [&](std::size_t i, std::size_t j) {
                  return hides(m, i, j) ? minus_infinity : Real{0};
                });
              }))
      .unless("a causal mask is applied, whatever the mask says",
              masked_by([](const Matrix& m) { return causal(m.shape(0), m.shape(1)); }))
      .unless("softmax runs down the columns", [=] {
        return reference::transposed(
            masked_softmax(reference::transposed(scaled), reference::transposed(mask)));
      });
  for (const std::size_t length : {8U, 9U, 12U, 16U, 20U, 32U, 64U, 128U}) {
    matcher.unless("the mask covers the first " + std::to_string(length) + " tokens only",
                   masked_by([length](const Matrix& m) { return up_to(m, length); }));
  }
  return matcher;
}

/// The same for a causal mask, which can go wrong in more ways.
MatrixMatcher are_the_causal_weights(const Matrix& scaled) {
  const std::size_t T = scaled.shape(0);
  auto matcher = are_the_masked_weights(scaled, causal(T, T));
  const auto masked_by = [&](auto mask) {
    return [=] { return masked_softmax(scaled, mask(T, T)); };
  };
  matcher
      .unless("the diagonal is masked as well: no token attends to itself",
              masked_by(without_diagonal))
      .unless("the mask is off by one: each token attends to the next one as well",
              masked_by(one_too_far))
      .unless("the lower triangle is masked, not the upper",
              [=] { return masked_softmax(scaled, reference::transposed(causal(T, T))); })
      .unless("only the next token is hidden, and later ones are not", masked_by(only_next_hidden));
  return matcher;
}

// --- examples ----------------------------------------------------------------------------------

/// Queries, keys and values of random sizes: as many keys as values, but not as many queries. The
/// scores are so far apart that hidden ones often exceed the others by 20 and more.
struct Example {
  Matrix queries;
  Matrix keys;
  Matrix values;
  Matrix mask;
};

Example random_example(const Sizes& sizes) {
  Generator generator(sizes.seed);
  const std::size_t T_keys = sizes.T + 1 + sizes.seed % 3;
  Example e;
  e.queries = normal_matrix(sizes.T, sizes.d_k, generator) * Real(6);
  e.keys = normal_matrix(T_keys, sizes.d_k, generator);
  e.values = normal_matrix(T_keys, sizes.d_out, generator);
  e.mask = random_mask(sizes.T, T_keys, generator);
  return e;
}

/// The same from an input, with weights.
struct Projected {
  Attention attention;
  Matrix X;

  Matrix queries() const { return reference::product(X, attention.W_query); }
  Matrix keys() const { return reference::product(X, attention.W_key); }
  Matrix values() const { return reference::product(X, attention.W_value); }
  Matrix scaled() const { return scaled_scores(queries(), keys()); }
};

/// @param strength  how far apart the scores are
Projected random_projection(const Sizes& sizes, Real strength) {
  Generator generator(sizes.seed);
  Attention attention(sizes.d_in, sizes.d_k, generator);
  const Real unit = 1 / std::sqrt(static_cast<Real>(sizes.d_in));
  attention.W_query = normal_matrix(sizes.d_in, sizes.d_k, generator) * (unit * strength);
  attention.W_key = normal_matrix(sizes.d_in, sizes.d_k, generator) * unit;
  attention.W_value = normal_matrix(sizes.d_in, sizes.d_out, generator) * unit;
  return {attention, normal_matrix(sizes.T, sizes.d_in, generator)};
}

Matrix identity(std::size_t T, Real diagonal) {
  Matrix m = reference::make(T, T);
  for (std::size_t i = 0; i < T; ++i) m(i, i) = diagonal;
  return m;
}

/// Four tokens, each of which attends to itself and next to nothing else: its score with itself is
/// 72, with the others 0. Sums of exponentials have no rounding here, so every right version gives
/// the same bits.
Projected four_look_ups() {
  Generator generator(4);
  Attention attention(4, 4, generator);
  attention.W_query = identity(4, 1);
  attention.W_key = identity(4, 1);
  attention.W_value = normal_matrix(4, 3, generator);
  return {attention, identity(4, 12)};
}

const Matrix worked_queries = {{1, 0}, {0, 1}, {1, 1}};
const Matrix worked_values = {{1, 0}, {0, 2}, {3, 1}};

// --- dropout -----------------------------------------------------------------------------------

/// What is left of `weights` when those are dropped that are 0 in `after`.
MatrixMatcher are_dropped_from(const Matrix& weights, double p, const Matrix& after) {
  const auto where_kept = [&](double factor) {
    return matrix_of(weights.shape(0), weights.shape(1), [&](std::size_t i, std::size_t j) {
      return after(i, j) == 0 ? Real(0) : weights(i, j) * static_cast<Real>(factor);
    });
  };
  auto matcher = equals(where_kept(1 / (1 - p)));
  matcher.unless("nothing is dropped while training, and nothing scaled", weights)
      .unless("the weights that remain aren't scaled up", where_kept(1))
      .unless("the weights that remain are multiplied by 1 - p, not divided by it",
              where_kept(1 - p))
      .unless("the weights that remain are divided by p, the probability to be dropped",
              where_kept(1 / p))
      .unless("each row is made to sum to 1 again", renormalised(where_kept(1)))
      .unless("the weights that remain are scaled up twice", where_kept(1 / (1 - p) / (1 - p)));
  return matcher;
}

/// A forward pass of tokens that all attend to each other alike: T² equal weights to drop from.
Trace even_trace(std::size_t T, const Training& training) {
  Generator unused(0);
  Attention attention(2, 2, unused);
  attention.W_value = identity(2, 1);
  return attention.forward(reference::make(T, 2), all_zero_mask(T), training);
}

/// What the fraction of dropped weights tells, where p is 0.3.
std::string bug_by_fraction(double dropped) {
  const auto near = [dropped](double fraction) { return std::abs(dropped - fraction) < 0.04; };
  if (dropped == 0) return "\n  This looks like: nothing is dropped while training.";
  if (dropped == 1) return "\n  This looks like: everything is dropped.";
  if (near(0.7)) return "\n  This looks like: p is taken for the probability to keep a weight.";
  if (near(0.15)) return "\n  This looks like: half of p arrives at dropout.";
  if (near(0.51)) return "\n  This looks like: dropout is applied twice.";
  return "";
}

double fraction_of_zeros(const Matrix& m) {
  const auto zeros = std::count(m.begin(), m.end(), Real(0));
  return static_cast<double>(zeros) / static_cast<double>(m.size());
}

}  // namespace

// --- what every chapter's code must do: its parts first ----------------------------------------

namespace shared {

constexpr std::size_t d_in = 5;

inline Attention make_attention(std::size_t columns_in, std::size_t columns_out,
                                Generator& generator) {
  return Attention(columns_in, columns_out, generator);
}

inline void self_attention(const Matrix& X) {
  Generator generator(1);
  make_attention(d_in, 6, generator).forward(X, causal_mask(X.shape(0)));
}

}  // namespace shared

#include "shared/causal_mask.hpp"
#include "shared/constructor.hpp"
#include "shared/dropout.hpp"
#include "shared/finiteness.hpp"
#include "shared/softmax.hpp"

// --- the mask ----------------------------------------------------------------------------------

TEST_CASE("the weights are the softmax of the scaled scores plus the mask", "[A13][B8]") {
  Comparisons comparisons;
  for (const Sizes& sizes : random_and_long_sizes()) {
    const Example e = random_example(sizes);
    auto matcher = are_the_masked_weights(scaled_scores(e.queries, e.keys), e.mask);
    matcher.unless("the scores are not divided by √d_k any more", [e] {
      return masked_softmax(reference::dot_products(e.queries, e.keys), e.mask);
    });
    comparisons.add(sizes, attend(e.queries, e.keys, e.values, e.mask).weights, matcher);
  }
  CHECK_THAT(comparisons, all_agree());
}

TEST_CASE("under the causal mask each token attends to itself and to earlier tokens", "[A13]") {
  Comparisons comparisons;
  for (const Sizes& sizes : random_and_long_sizes()) {
    const Projected p = random_projection(sizes, 6);
    comparisons.add(sizes, p.attention.forward(p.X, causal(sizes.T, sizes.T)).weights,
                    are_the_causal_weights(p.scaled()));
  }
  CHECK_THAT(comparisons, all_agree());
}

TEST_CASE("the context sums the values weighted by the masked weights", "[A13]") {
  Comparisons comparisons;
  for (const Sizes& sizes : random_and_long_sizes()) {
    const Projected p = random_projection(sizes, 2);
    const Matrix mask = causal(sizes.T, sizes.T);
    const Matrix scaled = p.scaled();
    const Matrix values = p.values();
    auto matcher = equals(reference::product(masked_softmax(scaled, mask), values));
    const Matrix keys = p.keys();
    matcher
        .unless("the context is a weighted sum of the keys, not of the values",
                [=] { return reference::product(masked_softmax(scaled, mask), keys); })
        .unless("this is the context without a mask",
                [=] { return reference::product(reference::softmax(scaled), values); })
        .unless("the mask comes after softmax, and the rows are not renormalised", [=] {
          return reference::product(filled(reference::softmax(scaled), mask, 0), values);
        });
    comparisons.add(sizes, p.attention.forward(p.X, mask).context, matcher);
  }
  CHECK_THAT(comparisons, all_agree());
}

TEST_CASE("every tensor of the trace is what its name says") {
  for (const Sizes& sizes : random_and_long_sizes()) {
    INFO(sizes);
    const Projected p = random_projection(sizes, 2);
    const Matrix mask = causal(sizes.T, sizes.T);
    const Trace trace = p.attention.forward(p.X, mask);
    const Matrix scaled = p.scaled();
    const double root_d_k = std::sqrt(static_cast<double>(sizes.d_k));
    {
      INFO("trace.queries should be X W_query, or that over √d_k");
      CHECK((same(trace.queries, p.queries()) ||
             same(trace.queries, reference::divided(p.queries(), root_d_k))));
    }
    {
      INFO("trace.keys should be X W_key");
      auto matcher = equals(p.keys());
      matcher.unless("these are the values: W_key and W_value are exchanged", p.values())
          .unless("these are the queries", p.queries());
      CHECK_THAT(trace.keys, matcher);
    }
    {
      INFO("trace.values should be X W_value");
      auto matcher = equals(p.values());
      matcher.unless("these are the keys: W_key and W_value are exchanged", p.keys())
          .unless("these are the queries", p.queries());
      CHECK_THAT(trace.values, matcher);
    }
    {
      // A number added to a whole row of scores changes no weight, so it doesn't count.
      INFO("trace.scores should be queries keysᵀ, or that over √d_k when the queries are scaled");
      const Matrix got = without_row_means(trace.scores);
      CHECK((same(got, without_row_means(scaled)) ||
             same(got, without_row_means(reference::dot_products(p.queries(), p.keys())))));
    }
    {
      INFO("trace.scaled should be the scores over √d_k");
      CHECK_THAT(without_row_means(trace.scaled), equals(without_row_means(scaled)));
    }
    {
      INFO("trace.masked should be the scaled scores plus the mask");
      // Of each row what is left, less its first entry, which is never hidden.
      const auto visible = [&](const Matrix& m) {
        return matrix_of(sizes.T, sizes.T, [&](std::size_t i, std::size_t j) {
          return hides(mask, i, j) ? m(i, j) : m(i, j) - m(i, 0);
        });
      };
      auto matcher = equals(visible(scaled + mask));
      matcher.unless("the mask isn't added", visible(scaled));
      CHECK_THAT(visible(trace.masked), matcher);
    }
    {
      INFO("trace.weights should be the softmax of trace.masked");
      CHECK_THAT(trace.weights, equals(masked_softmax(scaled, mask)));
    }
    {
      INFO("trace.weights_after_dropout should be the weights at inference");
      CHECK_THAT(trace.weights_after_dropout, equals(masked_softmax(scaled, mask)));
    }
    {
      INFO("trace.context should be weights values");
      CHECK_THAT(trace.context,
                 equals(reference::product(masked_softmax(scaled, mask), p.values())));
    }
  }
}

TEST_CASE("masked weights are exactly zero and the rest of the row sums to 1", "[A13]") {
  for (const Sizes& sizes : random_and_long_sizes()) {
    INFO(sizes);
    const Projected p = random_projection(sizes, 6);
    const Matrix weights = p.attention.forward(p.X, causal_mask(sizes.T)).weights;
    std::size_t not_zero = 0;
    for (std::size_t i = 0; i < sizes.T; ++i) {
      for (std::size_t j = i + 1; j < sizes.T; ++j) not_zero += weights(i, j) == 0 ? 0 : 1;
    }
    INFO("hidden weights that aren't exactly 0");
    CHECK(not_zero == 0);
    for (const Real sum : row_sums(weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  }
}

TEST_CASE("a single token attends only to itself under the mask", "[A13]") {
  const Projected p = random_projection({1, 5, 4, 3, 13}, 6);
  const Trace trace = p.attention.forward(p.X, causal_mask(1));
  CHECK_THAT(trace.weights, equals({{1}}));
  CHECK_THAT(trace.context, equals(p.values()));
}

TEST_CASE("a hidden score changes nothing however far it is above the visible ones", "[A13]") {
  // Queries and keys of one element, so that the scores are the products: row 2 sees −200 and −201,
  // and what it doesn't see is 0, 1,000 or 1e30.
  for (const Real above : {Real(0), Real(1000), Real(1e30)}) {
    const Matrix queries = {{1}, {1}};
    const Matrix keys = {{-200}, {-201}, {above}};
    const Matrix values = {{1}, {2}, {3}};
    const Matrix mask = {{0, minus_infinity, minus_infinity}, {0, 0, minus_infinity}};
    INFO("the visible scores are −200 and −201, the hidden one is " << above);
    auto matcher = equals(masked_softmax(scaled_scores(queries, keys), mask));
    matcher
        .unless(
            "the maximum is taken before the mask, and the exponentials of all visible scores "
            "are 0",
            reference::make(2, 3))
        .unless("the maximum is taken before the mask, and 0 is divided by 0",
                matrix_of(2, 3, [](std::size_t, std::size_t) {
                  return std::numeric_limits<Real>::quiet_NaN();
                }));
    CHECK_THAT(attend(queries, keys, values, mask).weights, matcher);
  }
}

TEST_CASE("scores of a thousand and below minus ten thousand are masked exactly", "[A13]") {
  SECTION("plus and minus a thousand") {
    const Matrix queries = {{1000}, {-1000}, {512}};
    const Matrix keys = {{1}, {0.9921875}, {-1}};
    const Matrix mask = {{0, 0, minus_infinity}, {minus_infinity, 0, 0}, {0, minus_infinity, 0}};
    const Matrix values = {{1}, {2}, {3}};
    CHECK_THAT(attend(queries, keys, values, mask).weights,
               are_the_masked_weights(scaled_scores(queries, keys), mask));
  }
  SECTION("below minus ten thousand") {
    const Matrix queries = {{-16384}, {-16384}, {-16384}};
    const Matrix keys = {{1}, {1.0001220703125}, {1.0078125}};  // −16384, −16386, −16512
    const Matrix values = {{1}, {2}, {3}};
    const Matrix scaled = scaled_scores(queries, keys);
    auto matcher = equals(masked_softmax(scaled, causal(3, 3)));
    matcher.unless("a stand-in such as −10000 is above these scores, and later tokens leak",
                   reference::softmax(filled(scaled, causal(3, 3), -10000)));
    CHECK_THAT(attend(queries, keys, values, causal(3, 3)).weights, matcher);
  }
}

TEST_CASE("a mask of the wrong shape is rejected with its shape") {
  const Projected p = random_projection({4, 3, 5, 2, 23}, 1);
  for (const Matrix::shape_type& shape :
       {Matrix::shape_type{1, 4}, Matrix::shape_type{4, 1}, Matrix::shape_type{1, 1},
        Matrix::shape_type{3, 3}, Matrix::shape_type{5, 5}, Matrix::shape_type{4, 5},
        Matrix::shape_type{0, 0}}) {
    const Matrix mask(shape, 0);
    INFO("a mask of " << shape_text(mask) << " for four tokens, which must not be broadcast");
    CHECK_THAT(message_of([&] { p.attention.forward(p.X, mask); }), ContainsSubstring("mask"));
    CHECK_THAT(message_of([&] { p.attention.forward(p.X, mask); }),
               ContainsSubstring(shape_text(mask)));
  }
  const Example e = random_example({3, 4, 5, 2, 6});  // three queries, four keys
  INFO("the mask of three queries and four keys, transposed");
  CHECK_THAT(
      message_of([&] { attend(e.queries, e.keys, e.values, reference::transposed(e.mask)); }),
      ContainsSubstring("mask"));
}

// --- the numbers that the text shows -----------------------------------------------------------

TEST_CASE("seed 42 gives the running example's masked context", "[B8]") {
  Generator generator(42);
  const Attention attention(2, 2, generator);
  const Matrix X = embed(split_words("draw a map"), 2, true).X;
  const Matrix masked = decimals({{.6038, .7434}, {-.0062, .6072}, {3.4989, 2.2427}});
  const Matrix open = decimals({{1.0100, 1.0641}, {.2040, .7057}, {3.4989, 2.2427}});
  auto matcher = equals(masked);
  matcher.unless("this is the context without a mask", open);
  CHECK_THAT(rounded(attention.forward(X, causal_mask(3)).context), matcher);
  CHECK_THAT(rounded(attention.forward(X, all_zero_mask(3)).context), equals(open));
}

TEST_CASE("the worked example under the mask comes out to the last digit", "[C5]") {
  const Trace trace = attend(worked_queries, worked_queries, worked_values, causal_mask(3));
  auto matcher = equals(decimals({{1, 0, 0}, {.3302, .6698, 0}, {.2483, .2483, .5035}}));
  matcher.unless("the mask comes after softmax, and the rows are not renormalised",
                 decimals({{.4011, 0, 0}, {.1978, .4011, 0}, {.2483, .2483, .5035}}));
  CHECK_THAT(rounded(trace.weights), matcher);
}

TEST_CASE("the first row is its own value and the last row is that without a mask", "[B8]") {
  for (const Sizes& sizes : random_and_long_sizes()) {
    INFO(sizes);
    const std::size_t T = sizes.T;
    const Projected p = random_projection(sizes, 2);
    const Matrix masked = p.attention.forward(p.X, causal_mask(T)).context;
    const Matrix open = p.attention.forward(p.X, all_zero_mask(T)).context;
    CHECK_THAT(row_of(masked, 0), equals(row_of(p.values(), 0)));
    CHECK_THAT(row_of(masked, T - 1), equals(row_of(open, T - 1)));
  }
}

TEST_CASE("an all-zero mask gives chapter 03", "[B8]") {
  Generator unused(0);
  chapter_03::Attention before(1, 1, unused);
  const auto context_of_chapter_03 = [&before](const Projected& p) {
    before.W_query = p.attention.W_query;
    before.W_key = p.attention.W_key;
    before.W_value = p.attention.W_value;
    return before.forward(p.X).context;
  };
  SECTION("on any numbers") {
    const Sizes sizes = GENERATE(from_range(random_sizes()));
    INFO(sizes);
    const Projected p = random_projection(sizes, 2);
    const Matrix now = p.attention.forward(p.X, all_zero_mask(sizes.T)).context;
    auto matcher = equals(context_of_chapter_03(p));
    matcher.unless("a causal mask is applied, whatever the mask says",
                   p.attention.forward(p.X, causal(sizes.T, sizes.T)).context);
    CHECK_THAT(now, matcher);
  }
  SECTION("to the last bit where no sum is rounded") {
    const Projected p = four_look_ups();
    CHECK(identical(p.attention.forward(p.X, all_zero_mask(4)).context, context_of_chapter_03(p)));
  }
}

TEST_CASE("masking before softmax is zeroing and renormalising after it", "[C5]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Projected p = random_projection(sizes, 2);
  const Matrix mask = causal(sizes.T, sizes.T);
  const Matrix open = p.attention.forward(p.X, all_zero_mask(sizes.T)).weights;
  auto matcher = equals(renormalised(filled(open, mask, 0)));
  matcher.unless("the mask comes after softmax, and the rows are not renormalised",
                 filled(open, mask, 0));
  CHECK_THAT(p.attention.forward(p.X, mask).weights, matcher);
}

TEST_CASE("weights rounded on the way change the last digit of row 2", "[C6]") {
  const Matrix mask = causal_mask(3);
  const Matrix open =
      attend(worked_queries, worked_queries, worked_values, all_zero_mask(3)).weights;
  const Matrix exact = attend(worked_queries, worked_queries, worked_values, mask).weights;
  const Matrix by_hand = renormalised(filled(rounded(open), mask, 0));
  CHECK_THAT(rounded(row_of(by_hand, 1)), equals(decimals({{.3303, .6697, 0}})));
  CHECK_THAT(rounded(row_of(exact, 1)), equals(decimals({{.3302, .6698, 0}})));
}

TEST_CASE("a stand-in for minus infinity leaks unless it is far below every score", "[B9]") {
  const auto weight_on_the_hidden = [](Real visible, Real hidden, Real replacement) {
    return softmax({{visible, hidden + replacement}})(0, 1);
  };
  INFO("the hidden score is 40 above the visible one");
  CHECK(weight_on_the_hidden(-20, 20, -20) > Real(0.99));
  CHECK(weight_on_the_hidden(-20, 20, -30) > Real(0.99));
  CHECK(weight_on_the_hidden(-20, 20, -50) > Real(0.00004));
  INFO("the hidden score is 40,000 above the visible one");
  CHECK(weight_on_the_hidden(-20000, 20000, -10000) == 1);
  for (const Real enough : {Real(-1e23), minus_infinity}) {
    INFO("a stand-in of " << enough);
    CHECK(weight_on_the_hidden(-20, 20, enough) == 0);
    CHECK(weight_on_the_hidden(-20000, 20000, enough) == 0);
  }
}

TEST_CASE("in half precision minus ten to the 23rd is minus infinity", "[B9]") {
  CHECK(rounded_to_half(Real(-1e23)) == minus_infinity);
  CHECK(rounded_to_half(Real(-1e4)) == Real(-1e4));
}

// --- what the mask is good for -----------------------------------------------------------------

TEST_CASE("a layer can copy the next token without the mask and not with it", "[A12][B7]") {
  Generator unused(0);
  Attention copier(5, 5, unused);
  copier.W_key = identity(5, 1);
  copier.W_value = identity(5, 1);
  copier.W_query =
      matrix_of(5, 5, [](std::size_t i, std::size_t j) { return j == i + 1 ? Real(40) : Real(0); });
  const Matrix open = copier.forward(identity(5, 1), all_zero_mask(5)).context;
  const Matrix masked = copier.forward(identity(5, 1), causal_mask(5)).context;
  for (std::size_t i = 0; i + 1 < 5; ++i) {
    INFO("row " << i << ", and the token after it");
    CHECK(open(i, i + 1) > Real(0.999));
    CHECK(masked(i, i + 1) == 0);
  }
}

TEST_CASE("without a mask every row depends on the last token", "[A12]") {
  const Projected p = random_projection({5, 4, 3, 2, 12}, 1);
  Matrix changed = p.X;
  for (std::size_t k = 0; k < 4; ++k) changed(4, k) += 1;
  const Matrix before = p.attention.forward(p.X, all_zero_mask(5)).context;
  const Matrix after = p.attention.forward(changed, all_zero_mask(5)).context;
  for (std::size_t i = 0; i < 4; ++i) {
    INFO("row " << i << " doesn't depend on token 4 although no mask hides it");
    CHECK_FALSE(same(row_of(before, i), row_of(after, i)));
  }
}

TEST_CASE("changing a token leaves earlier rows unchanged and changes its own", "[A12][A13][B7]") {
  for (const Sizes& sizes : random_and_long_sizes()) {
    INFO(sizes);
    const Projected p = random_projection(sizes, 1);
    const Matrix mask = causal_mask(sizes.T);
    const Matrix before = p.attention.forward(p.X, mask).context;
    for (std::size_t token = 1; token < sizes.T; token += 1 + sizes.T / 16) {
      Matrix changed = p.X;
      for (std::size_t k = 0; k < sizes.d_in; ++k) changed(token, k) = 2 - 3 * p.X(token, k);
      const Matrix after = p.attention.forward(changed, mask).context;
      INFO("token " << token << " was changed");
      {
        INFO("an earlier row has changed: a token attends to later ones");
        CHECK_THAT(first_rows(after, token), equals(first_rows(before, token)));
      }
      INFO("its own row should depend on it");
      CHECK_FALSE(identical(row_of(after, token), row_of(before, token)));
    }
  }
}

TEST_CASE("no row of a long sequence depends on its last token", "[A12][B7]") {
  const std::size_t T = 300;
  const Projected p = random_projection({T, 3, 2, 1, 300}, 1);
  const Matrix mask = causal_mask(T);
  Matrix changed = p.X;
  for (std::size_t k = 0; k < 3; ++k) changed(T - 1, k) = 2 - 3 * p.X(T - 1, k);
  CHECK(same(first_rows(p.attention.forward(changed, mask).context, T - 1),
             first_rows(p.attention.forward(p.X, mask).context, T - 1)));
}

// Versions that zero and renormalise after softmax divide by a sum that included later tokens, so
// their earlier rows may differ in the last bit, by rounding. Where no rounding can differ, none
// may.
TEST_CASE("changing a token leaves earlier rows unchanged to the bit", "[A12][B7]") {
  SECTION("when its value changes and its key doesn't") {
    const Sizes sizes = GENERATE(from_range(random_sizes()));
    INFO(sizes);
    Projected p = random_projection(sizes, 6);
    const std::size_t not_in_keys = sizes.d_in - 1;  // an element of X that no key contains
    for (std::size_t k = 0; k < sizes.d_k; ++k) p.attention.W_key(not_in_keys, k) = 0;
    const Matrix mask = causal_mask(sizes.T);
    const Matrix before = p.attention.forward(p.X, mask).context;
    for (std::size_t token = 1; token < sizes.T; ++token) {
      Matrix changed = p.X;
      changed(token, not_in_keys) += 1000;
      INFO("token " << token << " was changed, and an earlier row has changed with it");
      CHECK(identical(first_rows(p.attention.forward(changed, mask).context, token),
                      first_rows(before, token)));
    }
  }
  SECTION("when all of it changes") {
    const Projected p = four_look_ups();
    Matrix changed = p.X;
    changed(3, 0) = 18;
    changed(3, 1) = 15;
    changed(3, 2) = 20;  // its key now fits the third query better than the third key does
    changed(3, 3) = -7;
    INFO("the last token was changed, and an earlier row has changed with it");
    CHECK(identical(first_rows(p.attention.forward(changed, causal_mask(4)).context, 3),
                    first_rows(p.attention.forward(p.X, causal_mask(4)).context, 3)));
  }
}

TEST_CASE("appending tokens leaves earlier rows unchanged under the mask and no row without it",
          "[B7]") {
  const Projected p = random_projection({9, 5, 4, 3, 77}, 1);
  const Matrix masked = p.attention.forward(p.X, causal_mask(9)).context;
  const Matrix open = p.attention.forward(p.X, all_zero_mask(9)).context;
  for (std::size_t T = 1; T < 9; ++T) {
    const Matrix so_far = first_rows(p.X, T);
    const Matrix open_so_far = p.attention.forward(so_far, all_zero_mask(T)).context;
    INFO("the first " << T << " of 9 tokens");
    CHECK_THAT(p.attention.forward(so_far, causal_mask(T)).context, equals(first_rows(masked, T)));
    for (std::size_t i = 0; i < T; ++i) CHECK_FALSE(same(row_of(open_so_far, i), row_of(open, i)));
  }
}

TEST_CASE("a new token needs one row of scores when the earlier keys and values are kept", "[B7]") {
  const Projected p = random_projection({9, 5, 4, 3, 78}, 1);
  const Matrix all = p.attention.forward(p.X, causal_mask(9)).context;
  for (std::size_t T = 1; T <= 9; ++T) {
    INFO("token " << T << " of 9");
    const Matrix query = reference::product(row_of(p.X, T - 1), p.attention.W_query);
    const Trace step =
        attend(query, first_rows(p.keys(), T), first_rows(p.values(), T), reference::make(1, T));
    CHECK(step.scores.size() == T);
    CHECK_THAT(step.context, equals(row_of(all, T - 1)));
  }
}

TEST_CASE("all rows at once are the rows one at a time", "[A21]") {
  for (const Sizes& sizes : random_sizes()) {
    INFO(sizes);
    const Projected p = random_projection(sizes, 2);
    Matrix one_by_one = reference::make(sizes.T, sizes.d_out);
    for (std::size_t i = 0; i < sizes.T; ++i) {
      const Matrix so_far = first_rows(p.X, i + 1);
      const Matrix context = p.attention.forward(so_far, causal_mask(i + 1)).context;
      for (std::size_t j = 0; j < sizes.d_out; ++j) one_by_one(i, j) = context(i, j);
    }
    CHECK_THAT(p.attention.forward(p.X, causal_mask(sizes.T)).context, equals(one_by_one));
  }
}

TEST_CASE("under the mask the copies of a repeated word differ", "[A14]") {
  Generator generator(14);
  const Attention attention(4, 3, generator);
  const Matrix X = embed(split_words("the cat saw the dog"), 4, false).X;
  const Matrix open = attention.forward(X, all_zero_mask(5)).context;
  const Matrix masked = attention.forward(X, causal_mask(5)).context;
  CHECK_THAT(row_of(open, 3), equals(row_of(open, 0)));
  CHECK_FALSE(same(row_of(masked, 3), row_of(masked, 0)));
  INFO("the second copy attends to the four tokens up to itself, the first one to one");
  const Matrix of_prefix = attention.forward(first_rows(X, 4), all_zero_mask(4)).context;
  CHECK_THAT(row_of(masked, 3), equals(row_of(of_prefix, 3)));
  CHECK_THAT(row_of(masked, 0), equals(reference::product(row_of(X, 0), attention.W_value)));
}

TEST_CASE("permuting the tokens permutes the context until a mask comes in", "[A20]") {
  const Projected p = random_projection({5, 4, 3, 2, 20}, 1);
  const std::vector<std::size_t> order = {3, 0, 4, 2, 1};
  const Matrix reordered = reorder_rows(p.X, order);
  CHECK_THAT(p.attention.forward(reordered, all_zero_mask(5)).context,
             equals(reorder_rows(p.attention.forward(p.X, all_zero_mask(5)).context, order)));
  CHECK_FALSE(same(p.attention.forward(reordered, causal_mask(5)).context,
                   reorder_rows(p.attention.forward(p.X, causal_mask(5)).context, order)));
}

TEST_CASE("permuting keys and values with the columns of the mask changes nothing", "[A20]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  std::vector<std::size_t> backwards;
  for (std::size_t j = e.keys.shape(0); j > 0; --j) backwards.push_back(j - 1);
  const Matrix mask = reference::transposed(reorder_rows(reference::transposed(e.mask), backwards));
  const Trace trace =
      attend(e.queries, reorder_rows(e.keys, backwards), reorder_rows(e.values, backwards), mask);
  CHECK_THAT(trace.context, equals(attend(e.queries, e.keys, e.values, e.mask).context));
}

TEST_CASE("no context leaves the range of the values that its row attends to", "[A11]") {
  for (const Sizes& sizes : random_and_long_sizes()) {
    INFO(sizes);
    const Projected p = random_projection(sizes, 2);
    const Matrix context = p.attention.forward(p.X, causal_mask(sizes.T)).context;
    const Matrix values = p.values();
    for (std::size_t i = 0; i < sizes.T; i += 1 + sizes.T / 16) {
      INFO("row " << i << " and the values of the tokens up to it");
      CHECK(stays_in_range(row_of(context, i), first_rows(values, i + 1)));
    }
  }
}

// --- dropout -----------------------------------------------------------------------------------

TEST_CASE("while training a weight is zeroed or divided by 1 - p", "[A15]") {
  for (const Sizes& sizes : random_and_long_sizes()) {
    INFO(sizes);
    const Projected p = random_projection(sizes, 1);
    const Matrix weights = masked_softmax(p.scaled(), causal(sizes.T, sizes.T));
    Generator generator(sizes.seed);
    for (const Real probability : {Real(0.25), Real(0.7)}) {
      INFO("p = " << probability);
      const Trace trace =
          p.attention.forward(p.X, causal_mask(sizes.T), Training{probability, generator});
      CHECK_THAT(
          trace.weights_after_dropout,
          are_dropped_from(weights, static_cast<double>(probability), trace.weights_after_dropout));
      INFO("trace.weights should be those before dropout");
      CHECK_THAT(trace.weights, equals(weights));
    }
  }
}

TEST_CASE("the context sums the values weighted by what dropout leaves", "[A15]") {
  const Projected p = random_projection({7, 5, 4, 3, 15}, 1);
  Generator generator(15);
  const Trace trace = p.attention.forward(p.X, causal_mask(7), Training{Real(0.5), generator});
  // Which weights are dropped is read off the trace; their sizes are not.
  const Matrix weights = masked_softmax(p.scaled(), causal(7, 7));
  const Matrix left = matrix_of(7, 7, [&](std::size_t i, std::size_t j) {
    return trace.weights_after_dropout(i, j) == 0 ? Real(0) : 2 * weights(i, j);
  });
  auto matcher = equals(reference::product(left, p.values()));
  matcher
      .unless("the context doesn't notice dropout: it is a sum over all weights",
              reference::product(weights, p.values()))
      .unless("the context is a sum over the weights that remain, not scaled up",
              reference::divided(reference::product(left, p.values()), 2))
      .unless("the context is scaled up once more",
              reference::divided(reference::product(left, p.values()), 0.5));
  CHECK_THAT(trace.context, matcher);
}

TEST_CASE("a forward pass drops each weight with probability p", "[A15]") {
  Generator generator(1);
  const Trace trace = even_trace(64, Training{Real(0.3), generator});
  const double dropped = fraction_of_zeros(trace.weights_after_dropout);
  INFO(dropped << " of 4,096 weights are dropped; p = 0.3" << bug_by_fraction(dropped));
  CHECK_THAT(dropped, WithinAbs(0.3, 0.036));  // five standard deviations
}

TEST_CASE("each step samples a new dropout mask", "[A15]") {
  Generator generator(2);
  const Training training{Real(0.5), generator};
  const Matrix first = even_trace(64, training).weights_after_dropout;
  const Matrix second = even_trace(64, training).weights_after_dropout;
  std::size_t together = 0;
  for (std::size_t n = 0; n < first.size(); ++n) {
    together += first.flat(n) == 0 && second.flat(n) == 0 ? 1 : 0;
  }
  INFO(
      "two steps should drop a weight together with probability 0.25; more: they drop the same "
      "weights");
  CHECK_THAT(static_cast<double>(together) / 4096, WithinAbs(0.25, 0.034));
}

TEST_CASE("the mean over many dropout masks is the weights themselves", "[A15]") {
  Generator generator(3);
  const Training training{Real(0.3), generator};
  const Matrix mask = causal_mask(3);
  const Matrix weights = masked_softmax(scaled_scores(worked_queries, worked_queries), mask);
  constexpr int draws = 3000;
  Matrix mean_weights = reference::make(3, 3);
  Matrix mean_context = reference::make(3, 2);
  for (int draw = 0; draw < draws; ++draw) {
    const Trace trace = attend(worked_queries, worked_queries, worked_values, mask, training);
    for (std::size_t n = 0; n < 9; ++n) {
      mean_weights.flat(n) += trace.weights_after_dropout.flat(n) / draws;
    }
    for (std::size_t n = 0; n < 6; ++n) mean_context.flat(n) += trace.context.flat(n) / draws;
  }
  INFO("on average what is left is too small or too large");
  CHECK(nearly_equal(mean_weights, weights, 0.06));
  CHECK(nearly_equal(mean_context, reference::product(weights, worked_values), 0.1));
}

TEST_CASE("at inference nothing is dropped", "[A15]") {
  const Projected p = random_projection({6, 5, 4, 3, 16}, 1);
  const Trace plain = p.attention.forward(p.X, causal_mask(6));
  auto matcher = equals(plain.weights);
  matcher
      .unless("at inference the weights are multiplied by 1 - p",
              reference::divided(plain.weights, 2))
      .unless("at inference the weights are divided by 1 - p",
              reference::divided(plain.weights, 0.5));
  INFO("at inference nothing may be dropped or scaled");
  CHECK_THAT(plain.weights_after_dropout, matcher);
  CHECK_THAT(plain.context, equals(reference::product(plain.weights, p.values())));
  CHECK(identical(plain.weights_after_dropout, plain.weights));
}

TEST_CASE("with p = 0 a forward pass keeps every weight and with p = 1 none", "[A15]") {
  const Projected p = random_projection({6, 5, 4, 3, 17}, 1);
  Generator generator(17);
  const Trace all = p.attention.forward(p.X, causal_mask(6), Training{0, generator});
  CHECK(identical(all.weights_after_dropout, all.weights));
  const Trace none = p.attention.forward(p.X, causal_mask(6), Training{1, generator});
  INFO("with p = 1 a weight over 1 - p is 0 / 0, which is not a number");
  CHECK(all_zero(none.weights_after_dropout));
  CHECK(all_zero(none.context));
}
