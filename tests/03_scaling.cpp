/// @file
/// @brief What chapter 03 says about the division by √d_k, as tests.

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

/// Chapter 02's attention weights, without the division.
Matrix unscaled_weights(const Matrix& queries, const Matrix& keys, const Matrix& values) {
  return chapter_02::attend(queries, keys, values).weights;
}

/// Queries, keys and values of random sizes: as many keys as values, but not as many queries.
struct Example {
  Matrix queries;
  Matrix keys;
  Matrix values;
  std::size_t d_in;
};

Example random_example(const Sizes& sizes) {
  Generator generator(sizes.seed);
  const std::size_t T_keys = sizes.T + 1 + sizes.seed % 3;
  return {normal_matrix(sizes.T, sizes.d_k, generator), normal_matrix(T_keys, sizes.d_k, generator),
          normal_matrix(T_keys, sizes.d_out, generator), sizes.d_in};
}

/// softmax(queries keysᵀ / divisor), the slow way.
Matrix weights_with(const Example& e, double divisor) {
  return reference::softmax(
      reference::divided(reference::dot_products(e.queries, e.keys), divisor));
}

double root_d_k(const Example& e) {
  return std::sqrt(static_cast<double>(e.keys.shape(1)));
}

MatrixMatcher are_the_scaled_weights_of(const Example& e) {
  const double d_k = root_d_k(e) * root_d_k(e);
  return equals(weights_with(e, root_d_k(e)))
      .unless("these are the weights without the division by √d_k", weights_with(e, 1))
      .unless(
          "the scores are divided by d_k, not by its square root, or the division is applied twice",
          weights_with(e, d_k))
      .unless("the scores are multiplied by √d_k, not divided", weights_with(e, 1 / root_d_k(e)))
      .unless(
          "the scores are divided by √d_out, the width of the values; d_k is the width of the keys",
          weights_with(e, std::sqrt(static_cast<double>(e.values.shape(1)))))
      .unless("the scores are divided by the square root of the number of keys, not of their width",
              weights_with(e, std::sqrt(static_cast<double>(e.keys.shape(0)))))
      .unless(
          "the scores are divided by the square root of the number of queries, not of their width",
          weights_with(e, std::sqrt(static_cast<double>(e.queries.shape(0)))))
      .unless("the scores are divided by the square root of √d_k",
              weights_with(e, std::sqrt(root_d_k(e))))
      .unless("the square root was rounded to a whole number",
              weights_with(e, std::floor(root_d_k(e))))
      .unless("the weights are divided after softmax, not the scores before it",
              reference::divided(weights_with(e, 1), root_d_k(e)));
}

/// The same as a pass from an input, in which d_in can be told from d_k.
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
          reference::product(p.X, p.attention.W_value), p.X.shape(1)};
}

/// Vectors of two numbers, repeated until they are d_k wide, so that their dot products grow by
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

double gradient_at(const Matrix& weights, std::size_t row) {
  Vector one(Vector::shape_type{weights.shape(1)});
  for (std::size_t j = 0; j < one.size(); ++j) one(j) = weights(row, j);
  return softmax_jacobian_norm(one);
}

}  // namespace

TEST_CASE("the weights are the softmax of the scores over the square root of d_k", "[A10][A2]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  CHECK_THAT(attend(e.queries, e.keys, e.values).weights, are_the_scaled_weights_of(e));
}

TEST_CASE("the context blends the values by the scaled weights", "[A10][A2]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  auto matcher = equals(reference::product(weights_with(e, root_d_k(e)), e.values));
  matcher.unless("this is the context without the division by √d_k",
                 reference::product(weights_with(e, 1), e.values));
  matcher.unless("the context was divided by √d_k, not the scores",
                 reference::divided(reference::product(weights_with(e, 1), e.values), root_d_k(e)));
  matcher.unless(
      "the division came twice: the scores and again the context",
      reference::divided(reference::product(weights_with(e, root_d_k(e)), e.values), root_d_k(e)));
  CHECK_THAT(attend(e.queries, e.keys, e.values).context, matcher);
}

TEST_CASE("the width that counts is that of the keys and not that of the input", "[A10]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Projected p = random_projection(sizes);
  const Example e = project(p);
  auto matcher = are_the_scaled_weights_of(e);
  matcher.unless(
      "the scores are divided by √d_in, the width of the input; d_k is the width of the keys",
      weights_with(e, std::sqrt(static_cast<double>(sizes.d_in))));
  CHECK_THAT(p.attention.forward(p.X).weights, matcher);
}

TEST_CASE("wide keys need the division", "[A10][C3]") {
  const std::size_t d_k = 64;
  Generator generator(64);
  const Example e = {normal_matrix(3, d_k, generator), normal_matrix(9, d_k, generator),
                     normal_matrix(9, 2, generator), d_k};
  CHECK_THAT(attend(e.queries, e.keys, e.values).weights, are_the_scaled_weights_of(e));
}

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
  CHECK(nearly_equal(without_row_means(trace.scaled), without_row_means(scaled), 1e-4));
  CHECK_THAT(
      rounded(trace.weights),
      equals(decimals({{.4011, .1978, .4011}, {.1978, .4011, .4011}, {.2483, .2483, .5035}})));
  CHECK_THAT(rounded(trace.context),
             equals(decimals({{1.6044, .7967}, {1.4011, 1.2033}, {1.7587, 1}})));
}

TEST_CASE("dot products of random vectors spread as the square root of d_k", "[C2]") {
  Generator generator(2);
  for (const std::size_t d_k : {4U, 16U, 64U, 256U}) {
    const Matrix queries = normal_matrix(100, d_k, generator);
    const Matrix keys = normal_matrix(100, d_k, generator);
    const Trace trace = attend(queries, keys, matrix(100, 1, 1));
    INFO("d_k = " << d_k);
    CHECK_THAT(standard_deviation(reference::dot_products(queries, keys)),
               WithinRel(std::sqrt(static_cast<double>(d_k)), 0.1));
    CHECK_THAT(standard_deviation(without_row_means(trace.scaled)), WithinRel(1, 0.1));
  }
}

TEST_CASE("undivided scores at d_k 64 are eight times as large and leave softmax hardly a gradient",
          "[C3]") {
  Generator generator(64);
  const Matrix queries = normal_matrix(200, 64, generator);
  const Matrix keys = normal_matrix(16, 64, generator);
  const Matrix values = matrix(16, 1, 1);
  const Trace with = attend(queries, keys, values);
  const Matrix without = unscaled_weights(queries, keys, values);
  const double spread_with = standard_deviation(without_row_means(with.scaled));
  const double spread_without = standard_deviation(without_row_means(with.scores));
  CHECK_THAT(spread_without / spread_with, WithinRel(8, 1e-4));
  double gradient_with = 0;
  double gradient_without = 0;
  double largest_without = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    gradient_with += gradient_at(with.weights, i) / 200;
    gradient_without += gradient_at(without, i) / 200;
    largest_without += static_cast<double>(without(i, argmax(without, i))) / 200;
  }
  CHECK(gradient_without < 0.7 * gradient_with);
  CHECK(largest_without > 0.75);
}

TEST_CASE("a higher dimension changes nothing while the division is on", "[C4]") {
  const Matrix at_two = attend(worked_queries, worked_queries, worked_values).weights;
  for (const std::size_t d_k : {4U, 64U, 512U}) {
    const Matrix wide = widened(worked_queries, d_k);
    INFO("d_k = " << d_k);
    CHECK_THAT(attend(wide, wide, worked_values).weights, equals(at_two));
  }
}

TEST_CASE("a higher dimension makes the row collapse while the division is off", "[C4]") {
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

TEST_CASE("turning the third query moves the third row and no other", "[C4]") {
  Matrix turned = worked_queries;
  turned(2, 0) = -1;
  turned(2, 1) = Real(0.5);
  const Trace before = attend(worked_queries, worked_queries, worked_values);
  const Trace after = attend(turned, worked_queries, worked_values);
  CHECK(identical(reorder_rows(after.weights, {0, 1}), reorder_rows(before.weights, {0, 1})));
  CHECK_FALSE(same(reorder_rows(after.weights, {2}), reorder_rows(before.weights, {2})));
}

TEST_CASE("every row reads the whole sequence and so the tokens after it", "[A12]") {
  const Projected p = random_projection({5, 4, 3, 2, 12});
  Matrix changed = p.X;
  for (std::size_t j = 0; j < 4; ++j) changed(4, j) += 1;
  const Matrix before = p.attention.forward(p.X).context;
  const Matrix after = p.attention.forward(changed).context;
  for (std::size_t i = 0; i < 4; ++i)
    CHECK_FALSE(same(reorder_rows(before, {i}), reorder_rows(after, {i})));
}

TEST_CASE("the scores are all pairs so twice the tokens are four times the scores", "[A19]") {
  const Projected p = random_projection({6, 4, 3, 2, 19});
  const Matrix first_half = reorder_rows(p.X, {0, 1, 2});
  CHECK(p.attention.forward(p.X).scores.size() ==
        4 * p.attention.forward(first_half).scores.size());
}

TEST_CASE("every row of scaled weights sums to 1 and no context leaves its range", "[A11]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  const Trace trace = attend(e.queries, e.keys, e.values);
  for (const Real sum : row_sums(trace.weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  CHECK(stays_in_range(trace.context, e.values));
}

TEST_CASE("permuting the tokens permutes the context", "[A20]") {
  const Projected p = random_projection({5, 4, 3, 2, 20});
  const std::vector<std::size_t> order = {3, 0, 4, 2, 1};
  CHECK_THAT(p.attention.forward(reorder_rows(p.X, order)).context,
             equals(reorder_rows(p.attention.forward(p.X).context, order)));
}

TEST_CASE("scores of ten thousand stay shares") {
  const Matrix queries = {{100, 0}, {0, -100}};
  const Matrix keys = {{100, 100}, {-100, 100}, {99, 0}};
  const Example e = {queries, keys, matrix(3, 1, 1), 2};
  CHECK_THAT(attend(queries, keys, e.values).weights, are_the_scaled_weights_of(e));
}

TEST_CASE("PyTorch computes the same scaled pass") {
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

// --- what every chapter's code must do ---------------------------------------------------------

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
