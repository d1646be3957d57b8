/// @file
/// @brief What chapter 03 says about dividing by √d_k, as tests.

#include "common/random.hpp"
#include "common/tensor.hpp"

namespace chapter_02 {
#include "chapters/02_trainable_weights/attention.hpp"
}

#include "attention.hpp"

#include "common/measure.hpp"
#include "common/text.hpp"
#include "reference.hpp"
#include "support.hpp"

namespace {

/// Chapter 02's attention weights, from unscaled scores.
Matrix unscaled_weights(const Matrix& queries, const Matrix& keys, const Matrix& values) {
  return chapter_02::attend(queries, keys, values).weights;
}

/// Queries, keys and values of random sizes: as many keys as values, but not as many queries.
struct Example {
  Matrix queries;
  Matrix keys;
  Matrix values;
};

Example random_example(const Sizes& sizes) {
  Generator generator(sizes.seed);
  const std::size_t T_keys = sizes.T + 1 + sizes.seed % 3;
  return {normal_matrix(sizes.T, sizes.d_k, generator), normal_matrix(T_keys, sizes.d_k, generator),
          normal_matrix(T_keys, sizes.d_out, generator)};
}

/// softmax(queries keysᵀ / divisor), by loops.
Matrix weights_with(const Example& e, double divisor) {
  return reference::softmax(
      reference::divided(reference::dot_products(e.queries, e.keys), divisor));
}

double root(std::size_t width) {
  return std::sqrt(static_cast<double>(width));
}

double root_d_k(const Example& e) {
  return root(e.keys.shape(1));
}

/// The scores divided in the first columns only.
Matrix divided_up_to(const Matrix& scores, std::size_t columns, double divisor) {
  Matrix result = scores;
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    for (std::size_t j = 0; j < std::min(columns, scores.shape(1)); ++j) {
      result(i, j) = static_cast<Real>(static_cast<double>(scores(i, j)) / divisor);
    }
  }
  return result;
}

MatrixMatcher are_the_scaled_weights_of(const Example& e) {
  const double d_k = root_d_k(e) * root_d_k(e);
  auto matcher = equals(weights_with(e, root_d_k(e)));
  const auto divided_by = [&](double divisor) {
    return [e, divisor] { return weights_with(e, divisor); };
  };
  matcher.unless("these are the weights without the division by √d_k", divided_by(1))
      .unless(
          "the scores are divided by d_k, not by its square root, or the division is applied twice",
          divided_by(d_k))
      .unless("the scores are multiplied by √d_k, not divided", divided_by(1 / root_d_k(e)))
      .unless(
          "the scores are divided by √d_out, the width of the values; d_k is the width of the keys",
          divided_by(root(e.values.shape(1))))
      .unless("the scores are divided by the square root of the number of keys, not of their width",
              divided_by(root(e.keys.shape(0))))
      .unless(
          "the scores are divided by the square root of the number of queries, not of their width",
          divided_by(root(e.queries.shape(0))))
      .unless("the scores are divided by √(d_k − 1)", divided_by(std::sqrt(d_k - 1)))
      .unless("the scores are divided by √(d_k + 1)", divided_by(std::sqrt(d_k + 1)))
      .unless("the scores are divided by the square root of √d_k",
              divided_by(std::sqrt(root_d_k(e))))
      .unless("the square root is rounded down to a whole number",
              divided_by(std::floor(root_d_k(e))))
      .unless("the scores are divided by √2 at every width", divided_by(std::sqrt(2.0)))
      .unless("the scores are divided by 8, which is √d_k only where d_k is 64", divided_by(8))
      .unless("softmax is missing: these are the scaled scores",
              [e] {
                return reference::divided(reference::dot_products(e.queries, e.keys), root_d_k(e));
              })
      .unless("softmax is applied twice",
              [e] { return reference::softmax(weights_with(e, root_d_k(e))); })
      .unless("the weights are divided after softmax, not the scores before it",
              [e] { return reference::divided(weights_with(e, 1), root_d_k(e)); });
  for (const std::size_t columns : {8U, 12U, 16U, 20U, 32U, 64U}) {
    matcher.unless(
        "the scores are divided in the first " + std::to_string(columns) + " columns only",
        [e, columns] {
          return reference::softmax(
              divided_up_to(reference::dot_products(e.queries, e.keys), columns, root_d_k(e)));
        });
  }
  return matcher;
}

/// A layer and an input, in which d_in can be told from d_k.
struct Projected {
  Attention attention;
  Matrix X;
};

Projected random_projection(const Sizes& sizes) {
  Generator generator(sizes.seed);
  Attention attention(sizes.d_in, sizes.d_k, generator);
  attention.W_query = normal_matrix(sizes.d_in, sizes.d_k, generator);
  attention.W_key = normal_matrix(sizes.d_in, sizes.d_k, generator);
  attention.W_value = normal_matrix(sizes.d_in, sizes.d_out, generator);
  return {attention, normal_matrix(sizes.T, sizes.d_in, generator)};
}

Example project(const Projected& p) {
  return {reference::product(p.X, p.attention.W_query), reference::product(p.X, p.attention.W_key),
          reference::product(p.X, p.attention.W_value)};
}

/// Vectors of two elements, repeated until they are d_k wide, so that their dot products grow by
/// √(d_k/2).
Matrix widened(const Matrix& pairs, std::size_t d_k) {
  Matrix wide = matrix(pairs.shape(0), d_k);
  const double factor = std::pow(2.0 / static_cast<double>(d_k), 0.25);
  for (std::size_t i = 0; i < pairs.shape(0); ++i) {
    for (std::size_t j = 0; j < d_k; ++j) {
      wide(i, j) = static_cast<Real>(factor * static_cast<double>(pairs(i, j % 2)));
    }
  }
  return wide;
}

const Matrix worked_queries = {{1, 0}, {0, 1}, {1, 1}};
const Matrix worked_values = {{1, 0}, {0, 2}, {3, 1}};

// --- what softmax's gradient is like -----------------------------------------------------------

double mean(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum / static_cast<double>(numbers.size());
}

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

double fraction_below(const std::vector<double>& numbers, double limit) {
  const auto count = std::count_if(numbers.begin(), numbers.end(),
                                   [limit](double number) { return number < limit; });
  return static_cast<double>(count) / static_cast<double>(numbers.size());
}

/// Many rows of weights of random queries and keys, measured. What the tests claim of them holds
/// for other seeds as well, with room to spare.
struct Rows {
  std::vector<double> largest;
  std::vector<double> gradient;  ///< norm of the Jacobian with respect to what softmax gets

  void add(const Matrix& weights) {
    for (std::size_t i = 0; i < weights.shape(0); ++i) {
      largest.push_back(static_cast<double>(weights(i, argmax(weights, i))));
      gradient.push_back(softmax_jacobian_norm(xt::view(weights, i, xt::all())));
    }
  }
};

struct Sweep {
  Rows scaled;
  Rows unscaled;

  explicit Sweep(std::size_t d_k) {
    Generator generator(d_k);
    const Matrix values = matrix(16, 1, 1);
    for (int sequence = 0; sequence < 32; ++sequence) {
      const Matrix queries = normal_matrix(8, d_k, generator);
      const Matrix keys = normal_matrix(16, d_k, generator);
      scaled.add(attend(queries, keys, values).weights);
      unscaled.add(unscaled_weights(queries, keys, values));
    }
  }
};

/// The norm of the derivative of each row of weights with respect to its query, on average.
/// @param weights_of  gives the weights of queries and keys
template <class WeightsOf>
double gradient_by_query(const Matrix& queries, const Matrix& keys, const WeightsOf& weights_of) {
  const double step = 1e-2;
  std::vector<double> squares(queries.shape(0));
  for (std::size_t k = 0; k < queries.shape(1); ++k) {
    Matrix up = queries;
    Matrix down = queries;
    for (std::size_t i = 0; i < queries.shape(0); ++i) {
      up(i, k) += static_cast<Real>(step);
      down(i, k) -= static_cast<Real>(step);
    }
    const Matrix change = weights_of(up, keys) - weights_of(down, keys);
    for (std::size_t i = 0; i < change.shape(0); ++i) {
      for (std::size_t j = 0; j < change.shape(1); ++j) {
        squares[i] += std::pow(static_cast<double>(change(i, j)) / (2 * step), 2);
      }
    }
  }
  for (double& norm : squares) norm = std::sqrt(norm);
  return mean(squares);
}

/// Scores as they are or divided by √d_k: a version that scales the queries is right as well. A
/// number added to a whole row changes no weight, so it doesn't count.
bool are_scores_of(const Matrix& scores, const Example& e) {
  const Matrix dots = reference::dot_products(e.queries, e.keys);
  if (scores.shape() != dots.shape()) return false;
  const Matrix got = without_row_means(scores);
  return same(got, without_row_means(dots)) ||
         same(got, without_row_means(reference::divided(dots, root_d_k(e))));
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
  make_attention(d_in, 6, generator).forward(X);
}

}  // namespace shared

#include "shared/constructor.hpp"
#include "shared/finiteness.hpp"
#include "shared/softmax.hpp"

// --- the mechanism -----------------------------------------------------------------------------

TEST_CASE("the weights are the softmax of the scores over the square root of d_k", "[A10][A2]") {
  Comparisons comparisons;
  for (const Sizes& sizes : random_and_long_sizes()) {
    const Example e = random_example(sizes);
    comparisons.add(sizes, attend(e.queries, e.keys, e.values).weights,
                    are_the_scaled_weights_of(e));
  }
  CHECK_THAT(comparisons, all_agree());
}

TEST_CASE("the context sums the values weighted by the scaled weights", "[A10][A2]") {
  Comparisons comparisons;
  for (const Sizes& sizes : random_and_long_sizes()) {
    const Example e = random_example(sizes);
    const Matrix right = reference::product(weights_with(e, root_d_k(e)), e.values);
    const Matrix unscaled = reference::product(weights_with(e, 1), e.values);
    auto matcher = equals(right);
    matcher.unless("this is the context without the division by √d_k", unscaled)
        .unless("the context is a weighted sum of the keys, not of the values",
                reference::product(weights_with(e, root_d_k(e)), e.keys))
        .unless("the context is a sum weighted by the scores, not by the weights",
                reference::product(reference::dot_products(e.queries, e.keys), e.values))
        .unless("the context is divided by √d_k, not the scores",
                reference::divided(unscaled, root_d_k(e)))
        .unless("the division comes twice: the scores and again the context",
                reference::divided(right, root_d_k(e)));
    comparisons.add(sizes, attend(e.queries, e.keys, e.values).context, matcher);
  }
  CHECK_THAT(comparisons, all_agree());
}

TEST_CASE("d_k is the width of the keys and not that of the input", "[A10]") {
  Comparisons comparisons;
  for (const Sizes& sizes : random_and_long_sizes()) {
    const Projected p = random_projection(sizes);
    const Example e = project(p);
    auto matcher = are_the_scaled_weights_of(e);
    matcher
        .unless(
            "the scores are divided by √d_in, the width of the input; d_k is the width of the keys",
            [=] { return weights_with(e, root(sizes.d_in)); })
        .unless("the queries come from W_key: one projection serves both",
                [=] {
                  return weights_with({e.keys, e.keys, e.values}, root_d_k(e));
                })
        .unless("queries and keys are exchanged", [=] {
          return weights_with({e.keys, e.queries, e.values}, root_d_k(e));
        });
    comparisons.add(sizes, p.attention.forward(p.X).weights, matcher);
  }
  CHECK_THAT(comparisons, all_agree());
}

TEST_CASE("every tensor of the trace is what its name says") {
  for (const Sizes& sizes : random_and_long_sizes()) {
    INFO(sizes);
    const Projected p = random_projection(sizes);
    const Example e = project(p);
    const Trace trace = p.attention.forward(p.X);
    const Matrix scaled =
        reference::divided(reference::dot_products(e.queries, e.keys), root_d_k(e));
    {
      INFO("trace.queries should be X W_query, or that over √d_k");
      CHECK((same(trace.queries, e.queries) ||
             same(trace.queries, reference::divided(e.queries, root_d_k(e)))));
    }
    {
      INFO("trace.keys should be X W_key");
      auto matcher = equals(e.keys);
      matcher.unless("these are the values: W_key and W_value are exchanged", e.values)
          .unless("these are the queries", e.queries);
      CHECK_THAT(trace.keys, matcher);
    }
    {
      INFO("trace.values should be X W_value");
      auto matcher = equals(e.values);
      matcher.unless("these are the keys: W_key and W_value are exchanged", e.keys)
          .unless("these are the queries", e.queries)
          .unless("this is the input: it isn't projected", p.X);
      CHECK_THAT(trace.values, matcher);
    }
    {
      INFO("trace.scores should be queries keysᵀ");
      CHECK(are_scores_of(trace.scores, e));
    }
    {
      INFO("trace.scaled should be the scores over √d_k");
      CHECK_THAT(without_row_means(trace.scaled), equals(without_row_means(scaled)));
    }
    {
      INFO("trace.weights should be the softmax of trace.scaled");
      CHECK_THAT(trace.weights, equals(reference::softmax(scaled)));
    }
    {
      INFO("trace.context should be weights values");
      CHECK_THAT(trace.context, equals(reference::product(reference::softmax(scaled), e.values)));
    }
  }
}

TEST_CASE("every row of scaled weights sums to 1 and no context leaves the range of the values",
          "[A11]") {
  const Sizes sizes = GENERATE(from_range(random_and_long_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  const Trace trace = attend(e.queries, e.keys, e.values);
  for (const Real sum : row_sums(trace.weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  CHECK(stays_in_range(trace.context, e.values));
}

TEST_CASE("queries and keys of different widths are rejected with their shapes") {
  const auto call = [] { attend(matrix(3, 4), matrix(5, 2), matrix(5, 2)); };
  CHECK_THAT(message_of(call), ContainsSubstring("(3, 4)"));
}

// --- the numbers that the text shows -----------------------------------------------------------

TEST_CASE("seed 42 gives the running example's context", "[B6]") {
  Generator generator(42);
  const Attention attention(2, 2, generator);
  const Trace trace = attention.forward(embed(split_words("draw a map"), 2, true).X);
  CHECK_THAT(rounded(trace.context),
             equals(decimals({{1.0100, 1.0641}, {.2040, .7057}, {3.4989, 2.2427}})));
  CHECK_THAT(trace.queries(0, 0), WithinAbs(.7621, .00005));
  CHECK_THAT(trace.weights(0, 0), WithinAbs(.357, .0005));
  CHECK_THAT(trace.weights(0, 1), WithinAbs(.401, .0005));
  CHECK_THAT(trace.weights(0, 2), WithinAbs(.242, .0005));
  CHECK_THAT(trace.weights(2, 2), WithinAbs(.896, .0005));
}

TEST_CASE("the worked example comes out to the last digit", "[C1]") {
  const Trace trace = attend(worked_queries, worked_queries, worked_values);
  const Matrix scaled = decimals({{.7071, 0, .7071}, {0, .7071, .7071}, {.7071, .7071, 1.4142}});
  CHECK(are_scores_of(trace.scores, {worked_queries, worked_queries, worked_values}));
  CHECK(nearly_equal(without_row_means(trace.scaled), without_row_means(scaled), 1e-4));
  CHECK_THAT(
      rounded(trace.weights),
      equals(decimals({{.4011, .1978, .4011}, {.1978, .4011, .4011}, {.2483, .2483, .5035}})));
  CHECK_THAT(rounded(trace.context),
             equals(decimals({{1.6044, .7967}, {1.4011, 1.2033}, {1.7587, 1}})));
}

TEST_CASE("PyTorch computes the same scaled attention") {
  for (const Golden& golden : Golden::load("03_scaling")) {
    Generator unused(0);
    Attention attention(1, 1, unused);
    attention.W_query = golden["W_query"];
    attention.W_key = golden["W_key"];
    attention.W_value = golden["W_value"];
    const Trace trace = attention.forward(golden["X"]);
    CHECK_THAT(trace.weights, equals(golden["weights"]));
    CHECK_THAT(trace.context, equals(golden["context"]));
  }
}

// --- why the scores are scaled -----------------------------------------------------------------

TEST_CASE("the scores of random vectors have a standard deviation of √d_k and the scaled ones of 1",
          "[C2]") {
  Generator generator(2);
  for (const std::size_t d_k : {16U, 64U}) {
    const Matrix queries = normal_matrix(100, d_k, generator);
    const Matrix keys = normal_matrix(100, d_k, generator);
    const Trace trace = attend(queries, keys, matrix(100, 1, 1));
    INFO("d_k = " << d_k);
    CHECK_THAT(standard_deviation(reference::dot_products(queries, keys)),
               WithinRel(root(d_k), 0.15));
    CHECK_THAT(standard_deviation(without_row_means(trace.scaled)), WithinRel(1, 0.15));
  }
}

TEST_CASE("scaled scores of correlated elements do not keep a standard deviation of 1", "[C2]") {
  Generator generator(3);
  const std::size_t d_k = 64;
  const Matrix one_query = normal_matrix(200, 1, generator);
  const Matrix one_key = normal_matrix(200, 1, generator);
  Matrix queries = matrix(200, d_k);
  Matrix keys = matrix(200, d_k);
  for (std::size_t i = 0; i < 200; ++i) {
    for (std::size_t k = 0; k < d_k; ++k) {
      queries(i, k) = one_query(i, 0);  // every element of a vector is the same
      keys(i, k) = one_key(i, 0);
    }
  }
  const Trace trace = attend(queries, keys, matrix(200, 1, 1));
  CHECK(standard_deviation(without_row_means(trace.scaled)) > 5);
}

TEST_CASE("scaling changes little at d_k 2, more at 8, and decides at 64", "[A10][C3]") {
  const Sweep at_2(2);
  const Sweep at_8(8);
  const Sweep at_64(64);
  INFO("the largest weight of a row, on average over 256 rows of 16");
  CHECK_THAT(mean(at_2.scaled.largest), WithinAbs(0.22, 0.05));
  CHECK_THAT(mean(at_2.unscaled.largest), WithinAbs(0.30, 0.05));
  CHECK_THAT(mean(at_8.scaled.largest), WithinAbs(0.24, 0.05));
  CHECK_THAT(mean(at_8.unscaled.largest), WithinAbs(0.57, 0.05));
  CHECK_THAT(mean(at_64.scaled.largest), WithinAbs(0.25, 0.05));
  CHECK_THAT(mean(at_64.unscaled.largest), WithinAbs(0.85, 0.05));
}

TEST_CASE("at d_k 64 the unscaled scores are eight times as large as the scaled ones", "[C3]") {
  Generator generator(64);
  const Matrix queries = normal_matrix(200, 64, generator);
  const Matrix keys = normal_matrix(16, 64, generator);
  const Matrix scaled = without_row_means(attend(queries, keys, matrix(16, 1, 1)).scaled);
  const Matrix unscaled = without_row_means(reference::dot_products(queries, keys));
  CHECK_THAT(scaled, equals(reference::divided(unscaled, 8)));
}

TEST_CASE("without scaling two rows in five are saturated at d_k 64 and most are at 512", "[C3]") {
  const Sweep at_64(64);
  const Sweep at_512(512);
  {
    INFO("the fraction of rows whose gradient is below 0.05, unscaled");
    CHECK_THAT(fraction_below(at_64.unscaled.gradient, 0.05), WithinAbs(0.40, 0.12));
    CHECK_THAT(fraction_below(at_512.unscaled.gradient, 0.05), WithinAbs(0.74, 0.12));
  }
  {
    INFO("the median gradient, unscaled");
    CHECK_THAT(median(at_64.unscaled.gradient), WithinAbs(0.11, 0.07));
    CHECK(median(at_512.unscaled.gradient) < 0.01);
  }
  {
    INFO("the mean hides it: more than half of it is left at d_k 64");
    CHECK(mean(at_64.unscaled.gradient) > 0.45 * mean(at_64.scaled.gradient));
  }
  {
    INFO("scaled: no row is saturated, and the median stays where it was");
    CHECK(fraction_below(at_64.scaled.gradient, 0.05) == 0);
    CHECK(fraction_below(at_512.scaled.gradient, 0.05) == 0);
    CHECK_THAT(median(at_64.scaled.gradient), WithinAbs(0.30, 0.03));
    CHECK_THAT(median(at_512.scaled.gradient), WithinAbs(0.30, 0.03));
  }
}

TEST_CASE("with respect to the query the mean gradient is larger without scaling", "[C3]") {
  Generator generator(65);
  const Matrix queries = normal_matrix(60, 64, generator);
  const Matrix keys = normal_matrix(16, 64, generator);
  const Matrix values = matrix(16, 1, 1);
  const double scaled = gradient_by_query(queries, keys, [&](const Matrix& Q, const Matrix& K) {
    return attend(Q, K, values).weights;
  });
  const double unscaled = gradient_by_query(queries, keys, [&](const Matrix& Q, const Matrix& K) {
    return unscaled_weights(Q, K, values);
  });
  INFO("scaled " << scaled << ", unscaled " << unscaled);
  CHECK_THAT(scaled, WithinAbs(0.30, 0.05));
  CHECK(unscaled > 2 * scaled);
}

TEST_CASE("the Jacobian's norm is that of softmax's finite differences, and 0 for a row of one 1",
          "[C3]") {
  const Matrix scores = {{Real(0.5), Real(-1), Real(2), Real(0)}};
  const double step = 1e-2;
  double squares = 0;
  for (std::size_t j = 0; j < 4; ++j) {
    Matrix up = scores;
    Matrix down = scores;
    up(0, j) += static_cast<Real>(step);
    down(0, j) -= static_cast<Real>(step);
    const Matrix change = softmax(up) - softmax(down);
    for (const Real entry : change) {
      squares += std::pow(static_cast<double>(entry) / (2 * step), 2);
    }
  }
  const Vector weights = xt::view(softmax(scores), 0, xt::all());
  CHECK_THAT(softmax_jacobian_norm(weights), WithinAbs(std::sqrt(squares), 1e-3));
  CHECK(softmax_jacobian_norm({0, 1, 0}) == 0);
  CHECK_THAT(softmax_jacobian_norm({0.5, 0.5}), WithinAbs(0.5, 1e-6));
}

TEST_CASE("a wider worked example has the same weights when it is scaled", "[C4]") {
  const Matrix at_two = attend(worked_queries, worked_queries, worked_values).weights;
  for (const std::size_t d_k : {4U, 64U, 512U}) {
    const Matrix wide = widened(worked_queries, d_k);
    INFO("d_k = " << d_k);
    CHECK_THAT(attend(wide, wide, worked_values).weights, equals(at_two));
  }
}

TEST_CASE("a wider worked example collapses onto one token when it is unscaled", "[C4]") {
  Real largest = 0;
  for (const std::size_t d_k : {2U, 8U, 64U, 512U}) {
    const Matrix wide = widened(worked_queries, d_k);
    const Real now = unscaled_weights(wide, wide, worked_values)(2, 2);
    INFO("d_k = " << d_k);
    CHECK(now > largest);
    largest = now;
  }
  CHECK(largest > Real(0.9999));
}

// --- what else there is to notice --------------------------------------------------------------

TEST_CASE("rotating the third query changes the third row and no other", "[C4]") {
  for (const double degrees : {1.0, 45.0, 90.0, 180.0, -61.0}) {
    const double angle = degrees * std::acos(-1.0) / 180;
    Matrix rotated = worked_queries;
    rotated(2, 0) = static_cast<Real>(std::cos(angle) - std::sin(angle));
    rotated(2, 1) = static_cast<Real>(std::sin(angle) + std::cos(angle));
    const Matrix before = attend(worked_queries, worked_queries, worked_values).weights;
    const Matrix after = attend(rotated, worked_queries, worked_values).weights;
    INFO("rotated by " << degrees << " degrees");
    CHECK(identical(reorder_rows(after, {0, 1}), reorder_rows(before, {0, 1})));
    CHECK_FALSE(same(row_of(after, 2), row_of(before, 2)));
  }
}

TEST_CASE("rotating the third key changes every row", "[C4]") {
  Matrix rotated = worked_queries;
  rotated(2, 0) = -std::sqrt(Real{2});
  rotated(2, 1) = 0;
  const Matrix before = attend(worked_queries, worked_queries, worked_values).weights;
  const Matrix after = attend(worked_queries, rotated, worked_values).weights;
  for (std::size_t i = 0; i < 3; ++i) CHECK_FALSE(same(row_of(after, i), row_of(before, i)));
}

TEST_CASE("every row depends on the last token", "[A12]") {
  const Projected p = random_projection({5, 4, 3, 2, 12});
  Matrix changed = p.X;
  for (std::size_t j = 0; j < 4; ++j) changed(4, j) += 1;
  const Matrix before = p.attention.forward(p.X).context;
  const Matrix after = p.attention.forward(changed).context;
  for (std::size_t i = 0; i < 4; ++i) {
    INFO("row " << i);
    CHECK_FALSE(same(row_of(before, i), row_of(after, i)));
  }
}

TEST_CASE("twice the tokens make four times the scores", "[A19]") {
  for (const std::size_t T : {3U, 8U, 65U}) {
    const Projected half = random_projection({T, 4, 3, 2, 19});
    const Projected all = random_projection({2 * T, 4, 3, 2, 19});
    INFO("T = " << T << " and " << 2 * T);
    CHECK(half.attention.forward(half.X).scores.size() == T * T);
    CHECK(all.attention.forward(all.X).scores.size() == 4 * T * T);
  }
}

TEST_CASE("permuting the tokens permutes the context", "[A20]") {
  const Projected p = random_projection({5, 4, 3, 2, 20});
  const std::vector<std::size_t> order = {3, 0, 4, 2, 1};
  CHECK_THAT(p.attention.forward(reorder_rows(p.X, order)).context,
             equals(reorder_rows(p.attention.forward(p.X).context, order)));
}
