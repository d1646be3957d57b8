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

bool all_finite(const Matrix& m) {
  return std::all_of(m.begin(), m.end(), [](Real entry) { return std::isfinite(entry); });
}

bool all_zero(const Matrix& m) {
  return std::all_of(m.begin(), m.end(), [](Real entry) { return entry == 0; });
}

// --- masks -------------------------------------------------------------------------------------

/// 0 where `may_read(i, j)`, −∞ elsewhere.
template <class MayRead>
Matrix mask_where(std::size_t rows, std::size_t columns, const MayRead& may_read) {
  return matrix_of(rows, columns, [&](std::size_t i, std::size_t j) {
    return may_read(i, j) ? Real(0) : minus_infinity;
  });
}

bool hides(const Matrix& mask, std::size_t i, std::size_t j) {
  return mask(i, j) == minus_infinity;
}

Matrix all_zero_mask(std::size_t rows, std::size_t columns) {
  return reference::make(rows, columns);
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

Matrix next_alone_hidden(std::size_t rows, std::size_t columns) {
  return mask_where(rows, columns, [](std::size_t i, std::size_t j) { return j != i + 1; });
}

Matrix inverted(const Matrix& mask) {
  return mask_where(mask.shape(0), mask.shape(1),
                    [&](std::size_t i, std::size_t j) { return hides(mask, i, j); });
}

/// Any pattern, but each row may read something.
Matrix random_mask(std::size_t rows, std::size_t columns, Generator& generator) {
  Matrix mask = mask_where(
      rows, columns, [&](std::size_t, std::size_t) { return generator.uniform(0, 1) < Real(0.5); });
  for (std::size_t i = 0; i < rows; ++i) mask(i, (3 * i + 1) % columns) = 0;
  return mask;
}

// --- masked attention, the slow way, and the usual ways to get it wrong -------------------------

/// The softmax of what each row may read; zeros in a row that may read nothing.
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

MatrixMatcher are_the_shares(const Matrix& scaled, const Matrix& mask) {
  const std::size_t rows = scaled.shape(0);
  const std::size_t columns = scaled.shape(1);
  auto matcher = equals(masked_softmax(scaled, mask));
  matcher.unless("there is no mask: every row reads everything", reference::softmax(scaled))
      .unless("the mask comes after softmax, and the rows are not renormalised",
              filled(reference::softmax(scaled), mask, 0))
      .unless("the hidden scores became 0 in place of −∞, and e^0 is 1",
              reference::softmax(filled(scaled, mask, 0)))
      .unless("−20 was added in place of −∞", reference::softmax(lowered(scaled, mask, -20)))
      .unless("the hidden scores became −20 in place of −∞",
              reference::softmax(filled(scaled, mask, -20)))
      .unless("the mask is inverted: hidden is what should be read",
              masked_softmax(scaled, inverted(mask)))
      .unless("a causal mask is applied, whatever the mask says",
              masked_softmax(scaled, causal(rows, columns)))
      .unless("softmax runs down the columns",
              reference::transposed(
                  masked_softmax(reference::transposed(scaled), reference::transposed(mask))));
  return matcher;
}

/// The same for a causal mask, which has mistakes of its own.
MatrixMatcher are_the_causal_shares(const Matrix& scaled) {
  const std::size_t T = scaled.shape(0);
  const Matrix mask = causal(T, T);
  auto matcher = are_the_shares(scaled, mask);
  matcher
      .unless("the diagonal is masked as well: no token reads itself",
              masked_softmax(scaled, without_diagonal(T, T)))
      .unless("the mask is one off: each row reads the next token, too",
              masked_softmax(scaled, one_too_far(T, T)))
      .unless("the upper triangle is open, not the lower: each row reads what comes after it",
              masked_softmax(scaled, reference::transposed(mask)))
      .unless("only the next token is hidden, and those after it are not",
              masked_softmax(scaled, next_alone_hidden(T, T)));
  return matcher;
}

/// What a causal mask that is not right looks like; empty when it is right.
std::string likely_mistake(const Matrix& mask, std::size_t T) {
  const auto is = [&](const Matrix& other) {
    if (mask.shape() != other.shape()) return false;
    for (std::size_t i = 0; i < other.shape(0); ++i) {
      for (std::size_t j = 0; j < other.shape(1); ++j) {
        if (mask(i, j) != other(i, j)) return false;
      }
    }
    return true;
  };
  if (is(causal(T, T))) return "";
  if (mask.shape() != Matrix::shape_type{T, T}) return "its shape is " + shape_text(mask);
  if (is(all_zero_mask(T, T))) return "there is 0 in place of −∞: it hides nothing";
  if (is(without_diagonal(T, T))) return "the diagonal is masked as well: no token reads itself";
  if (is(one_too_far(T, T))) return "the mask is one off: each row reads the next token, too";
  if (is(inverted(causal(T, T)))) return "the mask is inverted: hidden is what should be read";
  if (is(reference::transposed(causal(T, T)))) return "the upper triangle is open, not the lower";
  if (is(next_alone_hidden(T, T))) return "only the next token is hidden, not those after it";
  if (is(lowered(all_zero_mask(T, T), causal(T, T), mask(0, T - 1)))) {
    return "a finite stand-in, " + std::to_string(mask(0, T - 1)) + ", is in place of −∞";
  }
  for (const Real entry : mask) {
    if (std::isnan(entry)) return "an entry is not a number: 0 times −∞ is nan";
    if (entry != 0 && entry != minus_infinity) return "an entry is neither 0 nor −∞";
  }
  return "some rows are right and others are not";
}

// --- examples ----------------------------------------------------------------------------------

/// Queries, keys and values of random sizes: as many keys as values, but not as many queries. The
/// scores are so spread out that hidden ones often exceed the others by 20 and more.
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

  Matrix scaled() const {
    return scaled_scores(reference::product(X, attention.W_query),
                         reference::product(X, attention.W_key));
  }
  Matrix values() const { return reference::product(X, attention.W_value); }
};

/// @param strength  how spread out the scores are
Projected random_projection(const Sizes& sizes, Real strength) {
  Generator generator(sizes.seed);
  Attention attention(sizes.d_in, sizes.d_k, generator);
  const Real unit = 1 / std::sqrt(static_cast<Real>(sizes.d_in));
  attention.W_query = normal_matrix(sizes.d_in, sizes.d_k, generator) * (unit * strength);
  attention.W_key = normal_matrix(sizes.d_in, sizes.d_k, generator) * unit;
  attention.W_value = normal_matrix(sizes.d_in, sizes.d_out, generator) * unit;
  return {attention, normal_matrix(sizes.T, sizes.d_in, generator)};
}

/// Four tokens, each of which finds itself and next to nothing else: its score with itself is 72,
/// with the others 0. Sums of exponentials have no rounding here, so every right version gives the
/// same bits.
Projected four_look_ups() {
  Generator generator(4);
  Attention attention(4, 4, generator);
  Matrix identity = reference::make(4, 4);
  for (std::size_t i = 0; i < 4; ++i) identity(i, i) = 1;
  attention.W_query = identity;
  attention.W_key = identity;
  attention.W_value = normal_matrix(4, 3, generator);
  return {attention, identity * Real(12)};
}

const Matrix worked_queries = {{1, 0}, {0, 1}, {1, 1}};
const Matrix worked_values = {{1, 0}, {0, 2}, {3, 1}};

// --- dropout -----------------------------------------------------------------------------------

/// Whether `kept` is `weights` with some of them gone and the rest divided by 1 - p.
MatrixMatcher are_dropped_from(const Matrix& weights, double p, const Matrix& kept) {
  const auto where_kept = [&](double factor) {
    return matrix_of(weights.shape(0), weights.shape(1), [&](std::size_t i, std::size_t j) {
      return kept(i, j) == 0 ? Real(0) : weights(i, j) * static_cast<Real>(factor);
    });
  };
  auto matcher = equals(where_kept(1 / (1 - p)));
  matcher.unless("nothing is dropped while training, and nothing scaled", weights)
      .unless("what is left is not scaled up by 1 / (1 - p)", where_kept(1))
      .unless("what is left is multiplied by 1 - p, not divided by it", where_kept(1 - p))
      .unless("what is left is divided by p, the share that is dropped", where_kept(1 / p))
      .unless("each row is made to sum to 1 again", renormalised(where_kept(1)))
      .unless("what is left is scaled up twice", where_kept(1 / (1 - p) / (1 - p)));
  return matcher;
}

/// Sixty-four tokens that all read each other alike: 4,096 equal weights to drop from.
Trace even_trace(const Training& training) {
  const Matrix zeros = reference::make(64, 2);
  return attend(zeros, zeros, reference::make(64, 1), all_zero_mask(64, 64), training);
}

/// What the share of dropped weights tells, where p is 0.3.
std::string share_by_mistake(double dropped) {
  if (dropped == 0) return "nothing is dropped while training";
  if (dropped == 1) return "everything is dropped";
  return dropped > 0.6 ? "p is taken for the probability to keep a weight" : "";
}

/// How often both `m(i, j)` and the entry so many rows and columns further are zero.
double zero_together(const Matrix& m, std::size_t rows_on, std::size_t columns_on) {
  std::size_t both = 0;
  for (std::size_t i = 0; i + rows_on < m.shape(0); ++i) {
    for (std::size_t j = 0; j + columns_on < m.shape(1); ++j) {
      both += m(i, j) == 0 && m(i + rows_on, j + columns_on) == 0 ? 1 : 0;
    }
  }
  return static_cast<double>(both) /
         static_cast<double>((m.shape(0) - rows_on) * (m.shape(1) - columns_on));
}

}  // namespace

TEST_CASE("the causal mask is 0 up to the diagonal and minus infinity after it", "[B8]") {
  const std::size_t T = GENERATE(1U, 2U, 3U, 4U, 9U);
  INFO("T = " << T);
  CHECK(likely_mistake(causal_mask(T), T) == "");
}

TEST_CASE("the weights are the softmax of what the mask leaves of the scaled scores", "[A13][B8]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  const Matrix scaled = scaled_scores(e.queries, e.keys);
  auto matcher = are_the_shares(scaled, e.mask);
  matcher.unless("the scores are not divided by √d_k any more",
                 masked_softmax(reference::dot_products(e.queries, e.keys), e.mask));
  CHECK_THAT(attend(e.queries, e.keys, e.values, e.mask).weights, matcher);
}

TEST_CASE("under the causal mask each token reads itself and those before it", "[A13]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Projected p = random_projection(sizes, 6);
  const Trace trace = p.attention.forward(p.X, causal(sizes.T, sizes.T));
  CHECK_THAT(trace.weights, are_the_causal_shares(p.scaled()));
}

TEST_CASE("the context blends the values by the masked weights", "[A13]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Projected p = random_projection(sizes, 2);
  const Matrix mask = causal(sizes.T, sizes.T);
  const Matrix right = masked_softmax(p.scaled(), mask);
  const Matrix open = reference::softmax(p.scaled());
  auto matcher = equals(reference::product(right, p.values()));
  matcher.unless("this is the context without a mask", reference::product(open, p.values()))
      .unless("the mask comes after softmax, and the rows are not renormalised",
              reference::product(filled(open, mask, 0), p.values()));
  CHECK_THAT(p.attention.forward(p.X, mask).context, matcher);
}

TEST_CASE("masked weights are exactly zero and the rest of the row sums to 1", "[A13]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Projected p = random_projection(sizes, 6);
  const Matrix weights = p.attention.forward(p.X, causal_mask(sizes.T)).weights;
  for (std::size_t i = 0; i < sizes.T; ++i) {
    INFO("row " << i);
    for (std::size_t j = i + 1; j < sizes.T; ++j) {
      INFO("column " << j << ": a hidden weight must be 0, not something small");
      CHECK(weights(i, j) == 0);
    }
  }
  for (const Real sum : row_sums(weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  INFO("the first row has nothing but its diagonal");
  CHECK_THAT(weights(0, 0), WithinRel(1, tolerance));
}

TEST_CASE("a token alone reads itself alone under the mask", "[A13]") {
  const Projected p = random_projection({1, 5, 4, 3, 13}, 6);
  const Trace trace = p.attention.forward(p.X, causal_mask(1));
  CHECK_THAT(trace.weights, equals({{1}}));
  CHECK_THAT(trace.context, equals(p.values()));
}

TEST_CASE("the first row is its own value and the last row does not change", "[B8]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const std::size_t T = sizes.T;
  const Projected p = random_projection(sizes, 2);
  const Matrix masked = p.attention.forward(p.X, causal_mask(T)).context;
  const Matrix open = p.attention.forward(p.X, all_zero_mask(T, T)).context;
  CHECK_THAT(row_of(masked, 0), equals(row_of(p.values(), 0)));
  CHECK_THAT(row_of(masked, T - 1), equals(row_of(open, T - 1)));
}

TEST_CASE("seed 42 gives the running example's masked context", "[B8]") {
  Generator generator(42);
  const Attention attention(2, 2, generator);
  const Matrix X = embed(split_words("draw a map"), 2, true).X;
  const Matrix masked = decimals({{.6038, .7434}, {-.0062, .6072}, {3.4989, 2.2427}});
  const Matrix open = decimals({{1.0100, 1.0641}, {.2040, .7057}, {3.4989, 2.2427}});
  auto matcher = equals(masked);
  matcher.unless("this is the context without a mask", open);
  CHECK_THAT(rounded(attention.forward(X, causal_mask(3)).context), matcher);
  CHECK_THAT(rounded(attention.forward(X, all_zero_mask(3, 3)).context), equals(open));
}

TEST_CASE("a mask of zeros is chapter 03", "[B8]") {
  Generator unused(0);
  chapter_03::Attention before(1, 1, unused);
  const auto chapter_03_reads = [&before](const Projected& p) {
    before.W_query = p.attention.W_query;
    before.W_key = p.attention.W_key;
    before.W_value = p.attention.W_value;
    return before.forward(p.X).context;
  };
  SECTION("on any numbers") {
    const Sizes sizes = GENERATE(from_range(random_sizes()));
    INFO(sizes);
    const Projected p = random_projection(sizes, 2);
    const Matrix now = p.attention.forward(p.X, all_zero_mask(sizes.T, sizes.T)).context;
    auto matcher = equals(chapter_03_reads(p));
    matcher.unless("a causal mask is applied, whatever the mask says",
                   p.attention.forward(p.X, causal(sizes.T, sizes.T)).context);
    CHECK_THAT(now, matcher);
  }
  SECTION("to the last bit where no sum is rounded") {
    const Projected p = four_look_ups();
    CHECK(identical(p.attention.forward(p.X, all_zero_mask(4, 4)).context, chapter_03_reads(p)));
  }
}

TEST_CASE("without a mask a row reads the tokens after it", "[A12]") {
  const Projected p = random_projection({5, 4, 3, 2, 12}, 1);
  Matrix changed = p.X;
  for (std::size_t k = 0; k < 4; ++k) changed(4, k) += 1;
  const Matrix before = p.attention.forward(p.X, all_zero_mask(5, 5)).context;
  const Matrix after = p.attention.forward(changed, all_zero_mask(5, 5)).context;
  for (std::size_t i = 0; i < 4; ++i) {
    INFO("row " << i << " does not notice token 4 although no mask hides it");
    CHECK_FALSE(same(row_of(before, i), row_of(after, i)));
  }
}

TEST_CASE("changing a later token changes no earlier row", "[A12][A13][B7]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Projected p = random_projection(sizes, 1);
  const Matrix mask = causal_mask(sizes.T);
  const Matrix before = p.attention.forward(p.X, mask).context;
  for (std::size_t token = 1; token < sizes.T; ++token) {
    Matrix changed = p.X;
    for (std::size_t k = 0; k < sizes.d_in; ++k) changed(token, k) = 2 - 3 * p.X(token, k);
    const Matrix after = p.attention.forward(changed, mask).context;
    INFO("token " << token << " was changed");
    {
      INFO("rows before it have read the future");
      CHECK_THAT(first_rows(after, token), equals(first_rows(before, token)));
    }
    INFO("its own row does not read it");
    CHECK_FALSE(same(row_of(after, token), row_of(before, token)));
  }
}

// Versions that zero and renormalise after softmax divide by a sum in which the future was, so
// their earlier rows may differ in the last bit, by rounding. Where no rounding can differ, none
// may.
TEST_CASE("changing a later token moves no earlier row by a single bit", "[A12][B7]") {
  SECTION("when it says something else but is found by the same key") {
    const Sizes sizes = GENERATE(from_range(random_sizes()));
    INFO(sizes);
    Projected p = random_projection(sizes, 6);
    const std::size_t unread = sizes.d_in - 1;  // a number of X that no key contains
    for (std::size_t k = 0; k < sizes.d_k; ++k) p.attention.W_key(unread, k) = 0;
    const Matrix mask = causal_mask(sizes.T);
    const Matrix before = p.attention.forward(p.X, mask).context;
    for (std::size_t token = 1; token < sizes.T; ++token) {
      Matrix changed = p.X;
      changed(token, unread) += 1000;
      INFO("token " << token << " was changed: rows before it have read the future");
      CHECK(identical(first_rows(p.attention.forward(changed, mask).context, token),
                      first_rows(before, token)));
    }
  }
  SECTION("when it is another token altogether") {
    const Projected p = four_look_ups();
    Matrix changed = p.X;
    changed(3, 0) = 18;
    changed(3, 1) = 15;
    changed(3, 2) = 20;  // its key now fits the third query better than the third key does
    changed(3, 3) = -7;
    INFO("the last token was changed: rows before it have read the future");
    CHECK(identical(first_rows(p.attention.forward(changed, causal_mask(4)).context, 3),
                    first_rows(p.attention.forward(p.X, causal_mask(4)).context, 3)));
  }
}

TEST_CASE("what is written stays as it was when the text goes on", "[B7]") {
  const Projected p = random_projection({9, 5, 4, 3, 77}, 1);
  const Matrix masked = p.attention.forward(p.X, causal_mask(9)).context;
  const Matrix open = p.attention.forward(p.X, all_zero_mask(9, 9)).context;
  for (std::size_t T = 1; T < 9; ++T) {
    const Matrix so_far = first_rows(p.X, T);
    INFO("the first " << T << " of 9 tokens");
    CHECK_THAT(p.attention.forward(so_far, causal_mask(T)).context, equals(first_rows(masked, T)));
    CHECK_FALSE(
        same(p.attention.forward(so_far, all_zero_mask(T, T)).context, first_rows(open, T)));
  }
}

TEST_CASE("all rows at once are the rows one by one", "[A21]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
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

TEST_CASE("under the mask the copies of a repeated word differ", "[A14]") {
  Generator generator(14);
  const Attention attention(4, 3, generator);
  const Matrix X = embed(split_words("the cat saw the dog"), 4, false).X;
  const Matrix open = attention.forward(X, all_zero_mask(5, 5)).context;
  const Matrix masked = attention.forward(X, causal_mask(5)).context;
  CHECK_THAT(row_of(open, 3), equals(row_of(open, 0)));
  CHECK_FALSE(same(row_of(masked, 3), row_of(masked, 0)));
  INFO("the second copy reads the four tokens up to itself, the first one reads one");
  const Matrix prefix = first_rows(X, 4);
  const Matrix of_prefix = attention.forward(prefix, all_zero_mask(4, 4)).context;
  CHECK_THAT(row_of(masked, 3), equals(row_of(of_prefix, 3)));
  CHECK_THAT(row_of(masked, 0), equals(reference::product(row_of(X, 0), attention.W_value)));
}

TEST_CASE("permuting the tokens permutes the context until a mask comes in", "[A20]") {
  const Projected p = random_projection({5, 4, 3, 2, 20}, 1);
  const std::vector<std::size_t> order = {3, 0, 4, 2, 1};
  const Matrix reordered = reorder_rows(p.X, order);
  CHECK_THAT(p.attention.forward(reordered, all_zero_mask(5, 5)).context,
             equals(reorder_rows(p.attention.forward(p.X, all_zero_mask(5, 5)).context, order)));
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

TEST_CASE("no context leaves the range of the values it may read", "[A11]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Projected p = random_projection(sizes, 2);
  const Matrix context = p.attention.forward(p.X, causal_mask(sizes.T)).context;
  for (std::size_t i = 0; i < sizes.T; ++i) {
    INFO("row " << i << " and the values of the tokens up to it");
    CHECK(stays_in_range(row_of(context, i), first_rows(p.values(), i + 1)));
  }
}

TEST_CASE("the worked example under the mask comes out to the last digit", "[C5]") {
  const Trace trace = attend(worked_queries, worked_queries, worked_values, causal_mask(3));
  auto matcher = equals(decimals({{1, 0, 0}, {.3302, .6698, 0}, {.2483, .2483, .5035}}));
  matcher.unless("the mask comes after softmax, and the rows are not renormalised",
                 decimals({{.4011, 0, 0}, {.1978, .4011, 0}, {.2483, .2483, .5035}}));
  CHECK_THAT(rounded(trace.weights), matcher);
}

TEST_CASE("masking before softmax is zeroing and renormalising after it", "[C5]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Projected p = random_projection(sizes, 2);
  const Matrix mask = causal(sizes.T, sizes.T);
  const Matrix open = p.attention.forward(p.X, all_zero_mask(sizes.T, sizes.T)).weights;
  auto matcher = equals(renormalised(filled(open, mask, 0)));
  matcher.unless("the mask comes after softmax, and the rows are not renormalised",
                 filled(open, mask, 0));
  CHECK_THAT(p.attention.forward(p.X, mask).weights, matcher);
}

TEST_CASE("weights rounded on the way change the last digit of row 2", "[C6]") {
  const Matrix mask = causal_mask(3);
  const Matrix open =
      attend(worked_queries, worked_queries, worked_values, all_zero_mask(3, 3)).weights;
  const Matrix exact = attend(worked_queries, worked_queries, worked_values, mask).weights;
  const Matrix by_hand = renormalised(filled(rounded(open), mask, 0));
  CHECK_THAT(rounded(row_of(by_hand, 1)), equals(decimals({{.3303, .6697, 0}})));
  CHECK_THAT(rounded(row_of(exact, 1)), equals(decimals({{.3302, .6698, 0}})));
}

TEST_CASE("a stand-in that is not large enough leaks", "[B9]") {
  const Matrix queries = {{-1}, {1}};
  const Matrix keys = {{60}, {15}};  // the first token's scores: −60 for itself, −15 for the hidden
  const Matrix values = {{1}, {2}};
  const auto weight_on_the_hidden = [&](Real stand_in) {
    return attend(queries, keys, values, {{0, stand_in}, {0, 0}}).weights(0, 1);
  };
  INFO("the hidden score is 45 above the one that may be read");
  CHECK(weight_on_the_hidden(-20) > Real(0.99));
  CHECK(weight_on_the_hidden(-40) > Real(0.99));
  CHECK(weight_on_the_hidden(-50) > Real(0.006));
  CHECK(weight_on_the_hidden(minus_infinity) == 0);
}

TEST_CASE("scores of a thousand and below minus ten thousand stay shares under a mask", "[A13]") {
  SECTION("plus and minus a thousand") {
    const Matrix queries = {{1000}, {-1000}, {512}};
    const Matrix keys = {{1}, {0.9921875}, {-1}};
    const Matrix mask = {{0, 0, minus_infinity}, {minus_infinity, 0, 0}, {0, minus_infinity, 0}};
    const Matrix values = {{1}, {2}, {3}};
    CHECK_THAT(attend(queries, keys, values, mask).weights,
               are_the_shares(scaled_scores(queries, keys), mask));
  }
  SECTION("below minus ten thousand") {
    const Matrix queries = {{-16384}, {-16384}, {-16384}};
    const Matrix keys = {{1}, {1.0001220703125}, {1.0078125}};  // −16384, −16386, −16512
    const Matrix values = {{1}, {2}, {3}};
    const Matrix scaled = scaled_scores(queries, keys);
    auto matcher = equals(masked_softmax(scaled, causal(3, 3)));
    matcher.unless("a stand-in such as −10000 is above these scores, and the future is read",
                   reference::softmax(filled(scaled, causal(3, 3), -10000)));
    CHECK_THAT(attend(queries, keys, values, causal(3, 3)).weights, matcher);
  }
}

TEST_CASE("a mask of another shape is refused with its shape") {
  const Projected p = random_projection({4, 3, 5, 2, 23}, 1);
  for (const Matrix::shape_type& shape :
       {Matrix::shape_type{1, 4}, Matrix::shape_type{4, 1}, Matrix::shape_type{1, 1},
        Matrix::shape_type{3, 3}, Matrix::shape_type{5, 5}, Matrix::shape_type{4, 5},
        Matrix::shape_type{0, 0}}) {
    const Matrix mask(shape, 0);
    INFO("a mask of " << shape_text(mask) << " for four tokens, which must not be broadcast");
    CHECK(throws_saying([&] { p.attention.forward(p.X, mask); }, "mask"));
    CHECK(throws_saying([&] { p.attention.forward(p.X, mask); }, shape_text(mask)));
  }
  const Example e = random_example({3, 4, 5, 2, 6});  // three queries, four keys
  INFO("the mask of three queries and four keys, turned");
  CHECK(throws_saying([&] { attend(e.queries, e.keys, e.values, reference::transposed(e.mask)); },
                      "mask"));
}

TEST_CASE("an input that is not finite is refused by its place under the mask") {
  Projected p = random_projection({4, 3, 5, 2, 24}, 1);
  p.X(3, 1) = std::numeric_limits<Real>::quiet_NaN();
  INFO("no mask would keep it out of the earlier rows: 0 times nan is nan");
  CHECK(throws_saying([&] { p.attention.forward(p.X, causal_mask(4)); }, "X(3, 1)"));
}

TEST_CASE("while training a weight is dropped or divided by 1 - p", "[A15]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Projected p = random_projection(sizes, 1);
  const Matrix weights = masked_softmax(p.scaled(), causal(sizes.T, sizes.T));
  Generator generator(sizes.seed);
  for (const Real share : {Real(0.25), Real(0.7)}) {
    INFO("p = " << share);
    const Trace trace = p.attention.forward(p.X, causal_mask(sizes.T), Training{share, generator});
    CHECK_THAT(trace.weights_after_dropout,
               are_dropped_from(weights, static_cast<double>(share), trace.weights_after_dropout));
    INFO("weights are those before dropout, kept those after it");
    CHECK_THAT(trace.weights, equals(weights));
  }
}

TEST_CASE("the context blends the values by what dropout leaves", "[A15]") {
  const Projected p = random_projection({7, 5, 4, 3, 15}, 1);
  Generator generator(15);
  const Trace trace = p.attention.forward(p.X, causal_mask(7), Training{Real(0.5), generator});
  auto matcher = equals(reference::product(trace.weights_after_dropout, p.values()));
  matcher
      .unless("the context does not notice dropout: it is blended by all the weights",
              reference::product(trace.weights, p.values()))
      .unless("the context is blended by what is left, not scaled up",
              reference::divided(reference::product(trace.weights_after_dropout, p.values()), 2))
      .unless("the context is scaled up once more",
              reference::divided(reference::product(trace.weights_after_dropout, p.values()), 0.5));
  CHECK_THAT(trace.context, matcher);
}

TEST_CASE("each weight is dropped by itself with probability p", "[A15]") {
  Generator generator(1);
  const Matrix kept = even_trace(Training{Real(0.3), generator}).weights_after_dropout;
  const double dropped = zero_together(kept, 0, 0);
  INFO(dropped << " of the weights are gone; p = 0.3");
  INFO(share_by_mistake(dropped));
  CHECK_THAT(dropped, WithinAbs(0.3, 0.04));
  INFO("two weights go together as often as chance has it, 0.09: rows and columns do not");
  CHECK_THAT(zero_together(kept, 0, 1), WithinAbs(0.09, 0.03));
  CHECK_THAT(zero_together(kept, 1, 0), WithinAbs(0.09, 0.03));
}

TEST_CASE("every step drops other weights", "[A15]") {
  Generator generator(2);
  const Training training{Real(0.5), generator};
  INFO("the second step drops the very weights that the first one dropped");
  CHECK_FALSE(
      same(even_trace(training).weights_after_dropout, even_trace(training).weights_after_dropout));
}

TEST_CASE("the mean over many draws is the undropped weights", "[A15]") {
  Generator generator(3);
  const Training training{Real(0.3), generator};
  const Matrix mask = causal_mask(3);
  const Matrix weights = masked_softmax(scaled_scores(worked_queries, worked_queries), mask);
  constexpr int draws = 3000;
  Matrix mean_kept = reference::make(3, 3);
  Matrix mean_context = reference::make(3, 2);
  for (int draw = 0; draw < draws; ++draw) {
    const Trace trace = attend(worked_queries, worked_queries, worked_values, mask, training);
    for (std::size_t n = 0; n < 9; ++n)
      mean_kept.flat(n) += trace.weights_after_dropout.flat(n) / draws;
    for (std::size_t n = 0; n < 6; ++n) mean_context.flat(n) += trace.context.flat(n) / draws;
  }
  INFO("what is left is too small or too large on average");
  CHECK(nearly_equal(mean_kept, weights, 0.06));
  CHECK(nearly_equal(mean_context, reference::product(weights, worked_values), 0.1));
}

TEST_CASE("at inference dropout changes nothing", "[A15]") {
  const Projected p = random_projection({6, 5, 4, 3, 16}, 1);
  const Trace plain = p.attention.forward(p.X, causal_mask(6));
  auto matcher = equals(plain.weights);
  matcher
      .unless("at inference the weights are multiplied by 1 - p",
              reference::divided(plain.weights, 2))
      .unless("at inference the weights are divided by 1 - p",
              reference::divided(plain.weights, 0.5));
  INFO("nothing may be dropped or scaled at inference");
  CHECK_THAT(plain.weights_after_dropout, matcher);
  CHECK_THAT(plain.context, equals(reference::product(plain.weights, p.values())));
  CHECK(identical(plain.weights_after_dropout, plain.weights));
}

TEST_CASE("dropout of 0 keeps every weight and dropout of 1 keeps none", "[A15]") {
  const Projected p = random_projection({6, 5, 4, 3, 17}, 1);
  Generator generator(17);
  const Trace all = p.attention.forward(p.X, causal_mask(6), Training{0, generator});
  CHECK(identical(all.weights_after_dropout, all.weights));
  const Trace none = p.attention.forward(p.X, causal_mask(6), Training{1, generator});
  INFO("with p = 1 a weight over 1 - p is 0 / 0, which is not a number");
  CHECK(all_finite(none.weights_after_dropout));
  CHECK(all_zero(none.weights_after_dropout));
  CHECK(all_zero(none.context));
}

TEST_CASE("a dropout that is no probability is refused", "[A15]") {
  const Projected p = random_projection({3, 5, 4, 2, 18}, 1);
  Generator generator(18);
  const Real infinity = std::numeric_limits<Real>::infinity();
  for (const Real share : {Real(-0.1), Real(1.1), Real(20), infinity, -infinity,
                           std::numeric_limits<Real>::quiet_NaN()}) {
    INFO("dropout of " << share);
    CHECK(throws_saying(
        [&] {
          p.attention.forward(p.X, causal_mask(3), Training{share, generator});
        },
        "dropout"));
  }
}

// --- what every chapter's code must do ---------------------------------------------------------

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
