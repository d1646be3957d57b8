/// @file
/// @brief What chapter 02 says about queries, keys and values, as tests.

#include "attention.hpp"

#include <limits>

#include "common/measure.hpp"
#include "common/text.hpp"
#include "reference.hpp"
#include "support.hpp"

namespace {

/// Attention of random sizes with random weights, in which d_k and d_out differ, and an input for
/// it.
struct Example {
  Attention attention;
  Matrix X;
};

Example random_example(const Sizes& sizes) {
  Generator generator(sizes.seed);
  Attention attention(sizes.d_in, sizes.d_k, generator);
  attention.W_query = normal_matrix(sizes.d_in, sizes.d_k, generator);
  attention.W_key = normal_matrix(sizes.d_in, sizes.d_k, generator);
  attention.W_value = normal_matrix(sizes.d_in, sizes.d_out, generator);
  return {attention, normal_matrix(sizes.T, sizes.d_in, generator)};
}

Matrix right_weights(const Matrix& X, const Matrix& W_query, const Matrix& W_key) {
  return reference::softmax(
      reference::dot_products(reference::product(X, W_query), reference::product(X, W_key)));
}

Matrix right_context(const Matrix& X, const Matrix& W_query, const Matrix& W_key,
                     const Matrix& W_value) {
  return reference::product(right_weights(X, W_query, W_key), reference::product(X, W_value));
}

/// The running example, with weights that are square: there every mix-up of weights fits, and each
/// has a name.
Example square_example() {
  Generator generator(42);
  Attention attention(3, 3, generator);
  return {attention, normal_matrix(4, 3, generator)};
}

}  // namespace

TEST_CASE("queries keys and values are the input times a weight matrix each", "[A7][A8]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example example = random_example(sizes);
  const Trace trace = example.attention.forward(example.X);
  CHECK_THAT(trace.keys, equals(reference::product(example.X, example.attention.W_key)));
  CHECK_THAT(trace.values, equals(reference::product(example.X, example.attention.W_value)));
}

TEST_CASE("the weights compare queries with keys", "[A2][A7]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example example = random_example(sizes);
  const Attention& a = example.attention;
  auto matcher = equals(right_weights(example.X, a.W_query, a.W_key));
  matcher.unless("one weight is used for both queries and keys: W_query",
                 right_weights(example.X, a.W_query, a.W_query));
  matcher.unless("one weight is used for both queries and keys: W_key",
                 right_weights(example.X, a.W_key, a.W_key));
  matcher.unless("W_query and W_key are swapped", right_weights(example.X, a.W_key, a.W_query));
  matcher.unless(
      "the weights are normalised down the columns, so the columns sum to 1 and not the rows",
      reference::wrong::softmax_down_the_columns(reference::dot_products(
          reference::product(example.X, a.W_query), reference::product(example.X, a.W_key))));
  CHECK_THAT(a.forward(example.X).weights, matcher);
}

TEST_CASE("the context blends the values", "[A2][A8]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example example = random_example(sizes);
  const Attention& a = example.attention;
  auto matcher = equals(right_context(example.X, a.W_query, a.W_key, a.W_value));
  matcher.unless("the values are not projected: X itself is blended",
                 reference::product(right_weights(example.X, a.W_query, a.W_key), example.X));
  CHECK_THAT(a.forward(example.X).context, matcher);
}

TEST_CASE("with square weights no mix-up of the three goes unnoticed", "[A7][A8]") {
  const Example example = square_example();
  const Matrix& X = example.X;
  const Matrix& Q = example.attention.W_query;
  const Matrix& K = example.attention.W_key;
  const Matrix& V = example.attention.W_value;
  const auto turned = [](const Matrix& w) { return reference::transposed(w); };
  auto matcher = equals(right_context(X, Q, K, V));
  matcher.unless("W_key and W_value are swapped", right_context(X, Q, V, K));
  matcher.unless("the keys were blended, not the values", right_context(X, Q, K, K));
  matcher.unless("W_query and W_value are swapped", right_context(X, V, K, Q));
  matcher.unless("W_query and W_key are swapped", right_context(X, K, Q, V));
  matcher.unless("W_query is used transposed; square weights hide that",
                 right_context(X, turned(Q), K, V));
  matcher.unless("W_key is used transposed; square weights hide that",
                 right_context(X, Q, turned(K), V));
  matcher.unless("W_value is used transposed; square weights hide that",
                 right_context(X, Q, K, turned(V)));
  matcher.unless("all three weights are used transposed, as PyTorch prints them",
                 right_context(X, turned(Q), turned(K), turned(V)));
  matcher.unless("the values are not projected: X itself is blended",
                 reference::product(right_weights(X, Q, K), X));
  matcher.unless("one weight is used for both queries and keys: W_query",
                 right_context(X, Q, Q, V));
  matcher.unless("one weight is used for both queries and keys: W_key", right_context(X, K, K, V));
  matcher.unless(
      "the queries are not projected: X itself asks",
      reference::product(reference::softmax(reference::dot_products(X, reference::product(X, K))),
                         reference::product(X, V)));
  matcher.unless(
      "the keys are not projected: X itself answers",
      reference::product(reference::softmax(reference::dot_products(reference::product(X, Q), X)),
                         reference::product(X, V)));
  CHECK_THAT(example.attention.forward(X).context, matcher);
}

TEST_CASE("with one weight matrix the scores stay symmetric", "[A6]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  Example example = random_example(sizes);
  example.attention.W_key = example.attention.W_query;
  const Matrix scores = example.attention.forward(example.X).scores;
  for (std::size_t i = 2; i < sizes.T; ++i) {
    const Real one_way = scores(i, i - 1) + scores(i - 1, i - 2) + scores(i - 2, i);
    const double other_way = scores(i, i - 2) + scores(i - 2, i - 1) + scores(i - 1, i);
    CHECK_THAT(one_way,
               WithinAbs(other_way, 10 * tolerance) || WithinRel(other_way, 10 * tolerance));
  }
}

TEST_CASE("two weight matrices break the symmetry", "[A7]") {
  const Sizes sizes = {6, 4, 3, 5, 77};
  const Example example = random_example(sizes);
  const Matrix scores = example.attention.forward(example.X).scores;
  const Real one_way = scores(2, 1) + scores(1, 0) + scores(0, 2);
  const double other_way = scores(2, 0) + scores(0, 1) + scores(1, 2);
  CHECK_THAT(one_way, !WithinRel(other_way, tolerance));
}

TEST_CASE("the score of a pair goes through W_query W_keyᵀ and back through W_key W_queryᵀ",
          "[A7]") {
  const Example example = square_example();
  const Attention& a = example.attention;
  const Matrix there = reference::product(a.W_query, reference::transposed(a.W_key));
  const Matrix right = reference::dot_products(reference::product(example.X, there), example.X);
  CHECK_THAT(without_row_means(a.forward(example.X).scores), equals(without_row_means(right)));
  CHECK_THAT(reference::transposed(there), equals(reference::dot_products(a.W_key, a.W_query)));
}

TEST_CASE("another W_value changes what is handed over and not who is read", "[A8]") {
  const Example example = square_example();
  Attention other = example.attention;
  for (Real& weight : other.W_value) weight += 1;
  const Trace before = example.attention.forward(example.X);
  const Trace after = other.forward(example.X);
  CHECK_THAT(after.weights, equals(before.weights));
  CHECK_FALSE(same(after.context, before.context));
}

TEST_CASE("a query that fits one key alone looks its value up", "[B2]") {
  // Three keys at right angles, far apart: softmax is then a look-up in a table.
  const Matrix keys = {{100, 0, 0}, {0, 100, 0}, {0, 0, 100}};
  const Matrix values = {{1, 2}, {3, 4}, {5, 6}};
  const Matrix third = attend({{0, 0, 1}}, keys, values).context;
  CHECK_THAT(third, equals({{5, 6}}));
  const Matrix undecided = attend({{0, 0, 0}}, keys, values).context;
  CHECK_THAT(undecided, equals({{3, 4}}));
}

TEST_CASE("the weights cost three times d_in times d_out", "[A9]") {
  Generator generator(1);
  const Attention small(2, 5, generator);
  CHECK(small.W_query.size() + small.W_key.size() + small.W_value.size() == 30);
  const Attention gpt2(768, 768, generator);
  CHECK(gpt2.W_query.size() + gpt2.W_key.size() + gpt2.W_value.size() == 1769472);
}

TEST_CASE("d_out is the width of the context", "[A9]") {
  Generator generator(1);
  const Attention attention(2, 7, generator);
  const Trace trace = attention.forward({{1, 2}, {3, 4}, {5, 6}});
  CHECK(shape_text(trace.context) == "(3, 7)");
  CHECK(shape_text(trace.keys) == "(3, 7)");
}

TEST_CASE("seed 42 draws the weights that PyTorch draws", "[B4][B5]") {
  Generator generator(42);
  const Attention attention(2, 2, generator);
  const auto printed = [](const Matrix& w) { return rounded(reference::transposed(w)); };
  CHECK_THAT(printed(attention.W_query), equals(decimals({{.5406, .5869}, {-.1657, .6496}})));
  CHECK_THAT(printed(attention.W_key), equals(decimals({{-.1549, .1427}, {-.3443, .4153}})));
  CHECK_THAT(printed(attention.W_value), equals(decimals({{.6233, -.5188}, {.6146, .1323}})));
}

TEST_CASE("no context leaves the range of its column of values", "[A11]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example example = random_example(sizes);
  const Matrix values = reference::product(example.X, example.attention.W_value);
  CHECK(stays_in_range(example.attention.forward(example.X).context, values));
}

TEST_CASE("permuting keys and values together changes nothing", "[A20]") {
  Generator generator(3);
  const Matrix queries = normal_matrix(4, 3, generator);
  const Matrix keys = normal_matrix(5, 3, generator);
  const Matrix values = normal_matrix(5, 2, generator);
  const std::vector<std::size_t> order = {4, 2, 0, 1, 3};
  const Matrix moved =
      attend(queries, reorder_rows(keys, order), reorder_rows(values, order)).context;
  CHECK_THAT(moved, equals(attend(queries, keys, values).context));
}

TEST_CASE("PyTorch computes the same unscaled pass") {
  for (const Golden& golden : Golden::load("02_trainable_weights")) {
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

TEST_CASE("an input of another width is refused with both widths") {
  Generator generator(1);
  const Attention attention(3, 4, generator);
  CHECK(throws_saying(
      [&] {
        attention.forward({{1, 2}, {3, 4}});
      },
      "the inner sizes 2 and 3 differ"));
}

TEST_CASE("an input that is not finite is refused by its place") {
  Generator generator(1);
  const Attention attention(2, 4, generator);
  Matrix X = {{1, 2}, {3, 4}};
  X(0, 1) = std::numeric_limits<Real>::quiet_NaN();
  CHECK(throws_saying([&] { attention.forward(X); }, "X(0, 1) is nan"));
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
