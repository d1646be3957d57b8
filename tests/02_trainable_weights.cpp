/// @file
/// @brief What chapter 02 says about queries, keys and values, as tests.
///
/// A constant added to a whole row of scores changes no weight, so a version that has one is right
/// as well: scores are compared up to a constant per row.

#include "attention.hpp"

#include <cmath>

#include "common/measure.hpp"
#include "common/text.hpp"
#include "reference.hpp"
#include "support.hpp"

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

namespace {

/// Random sizes, and some that are longer and wider than any small constant.
std::vector<Sizes> sizes_to_try() {
  std::vector<Sizes> all = random_sizes();
  all.insert(all.end(),
             {{2, 3, 97, 4, 21}, {33, 97, 5, 40, 22}, {97, 4, 33, 6, 23}, {130, 7, 6, 33, 24}});
  return all;
}

/// Attention of random weights in which d_k and d_out differ, and an input for it.
struct Example {
  Attention attention;
  Matrix X;
  Matrix queries;
  Matrix keys;
  Matrix values;
  Matrix scores;
  Matrix weights;
  Matrix context;
};

Example computed(const Attention& attention, const Matrix& X) {
  Example e{attention, X, {}, {}, {}, {}, {}, {}};
  e.queries = reference::product(X, attention.W_query);
  e.keys = reference::product(X, attention.W_key);
  e.values = reference::product(X, attention.W_value);
  e.scores = reference::dot_products(e.queries, e.keys);
  e.weights = reference::softmax(e.scores);
  e.context = reference::product(e.weights, e.values);
  return e;
}

/// Its scores have a standard deviation of about 2 at any size: far enough apart for the weights to
/// differ, and small enough for the tolerance.
Example random_example(const Sizes& sizes) {
  Generator generator(sizes.seed);
  const double d_in = static_cast<double>(sizes.d_in);
  const double scale = 1.4 / std::sqrt(d_in) / std::pow(static_cast<double>(sizes.d_k), 0.25);
  Attention attention(sizes.d_in, sizes.d_k, generator);
  attention.W_query = normal_matrix(sizes.d_in, sizes.d_k, generator) * static_cast<Real>(scale);
  attention.W_key = normal_matrix(sizes.d_in, sizes.d_k, generator) * static_cast<Real>(scale);
  attention.W_value =
      normal_matrix(sizes.d_in, sizes.d_out, generator) / static_cast<Real>(std::sqrt(d_in));
  return computed(attention, normal_matrix(sizes.T, sizes.d_in, generator));
}

/// Weights that are square: every mix-up of them fits, and each has a name.
Example square_example() {
  Generator generator(42);
  const Attention attention(3, 3, generator);
  return computed(attention, normal_matrix(4, 3, generator));
}

Matrix context_of(const Matrix& queries, const Matrix& keys, const Matrix& values) {
  return reference::product(reference::softmax(reference::dot_products(queries, keys)), values);
}

/// The context when each of the three is X times a matrix.
Matrix context_of(const Matrix& X, const Matrix& W_query, const Matrix& W_key,
                  const Matrix& W_value) {
  return context_of(reference::product(X, W_query), reference::product(X, W_key),
                    reference::product(X, W_value));
}

/// Scores with a constant added to each row so that the diagonal is right: what is left of a
/// version that has its own constant in each row.
Matrix with_right_diagonal(const Matrix& scores, const Example& example) {
  Matrix shifted = scores;
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const Real shift = example.scores(i, i) - scores(i, i);
    for (std::size_t j = 0; j < scores.shape(1); ++j) shifted(i, j) += shift;
  }
  return shifted;
}

/// Entries relative to the largest, for a tolerance relative to it.
Matrix over_largest(const Matrix& m) {
  return reference::divided(m, max_abs(m));
}

Example with_one_weight_matrix(const Sizes& sizes) {
  Example example = random_example(sizes);
  example.attention.W_key = example.attention.W_query;
  return computed(example.attention, example.X);
}

}  // namespace

// --- queries, keys, values ---------------------------------------------------------------------

TEST_CASE("queries keys and values are the input times a weight matrix each", "[A7][A8]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO(sizes);
  const Example right = random_example(sizes);
  const Trace trace = right.attention.forward(right.X);
  {
    INFO("trace.queries");
    CHECK_THAT(trace.queries, equals(right.queries)
                                  .unless("trace.queries holds the keys", right.keys)
                                  .unless("the queries are not projected: they are X", right.X));
  }
  {
    INFO("trace.keys");
    CHECK_THAT(trace.keys, equals(right.keys)
                               .unless("trace.keys holds the queries", right.queries)
                               .unless("trace.keys holds the values", right.values)
                               .unless("the keys are not projected: they are X", right.X));
  }
  {
    INFO("trace.values");
    CHECK_THAT(trace.values, equals(right.values)
                                 .unless("trace.values holds the keys", right.keys)
                                 .unless("the values are not projected: they are X", right.X));
  }
}

TEST_CASE("the scores are the dot products of queries and keys up to a constant per row",
          "[A2][A7]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.scores, " << sizes);
  const Example right = random_example(sizes);
  const double d_k = static_cast<double>(sizes.d_k);
  CHECK_THAT(without_row_means(right.attention.forward(right.X).scores),
             equals(without_row_means(right.scores))
                 .unless("W_query and W_key are swapped, or the scores transposed",
                         without_row_means(reference::transposed(right.scores)))
                 .unless("queries are compared with queries",
                         without_row_means(reference::dot_products(right.queries, right.queries)))
                 .unless("keys are compared with keys",
                         without_row_means(reference::dot_products(right.keys, right.keys)))
                 .unless("X is compared with itself, as in chapter 01",
                         without_row_means(reference::dot_products(right.X, right.X)))
                 .unless("the scores are divided by √d_k; scaling comes in chapter 03",
                         without_row_means(reference::divided(right.scores, std::sqrt(d_k))))
                 .unless("trace.scores holds the weights", without_row_means(right.weights))
                 .unless("trace.scores is zero or constant: the scores aren't recorded",
                         matrix(sizes.T, sizes.T)));
}

TEST_CASE("the weights are the softmax of the scores of queries and keys", "[A2][A7]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.weights, " << sizes);
  const Example right = random_example(sizes);
  const Attention& a = right.attention;
  const double d_k = static_cast<double>(sizes.d_k);
  const bool is_small = sizes.T <= 40;  // guesses take time
  auto matcher = is_small ? shared::are_the_probabilities_of(right.scores) : equals(right.weights);
  matcher
      .unless("one weight matrix is used for both queries and keys: W_query",
              reference::softmax(reference::dot_products(right.queries, right.queries)))
      .unless("one weight matrix is used for both queries and keys: W_key",
              reference::softmax(reference::dot_products(right.keys, right.keys)))
      .unless("W_query and W_key are swapped, or the scores transposed",
              reference::softmax(reference::transposed(right.scores)))
      .unless("the scores are divided by √d_k; scaling comes in chapter 03",
              reference::softmax(reference::divided(right.scores, std::sqrt(d_k))));
  CHECK_THAT(a.forward(right.X).weights, matcher);
}

TEST_CASE("the context is the weighted sum of the values", "[A2][A8]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.context, " << sizes);
  const Example right = random_example(sizes);
  CHECK_THAT(right.attention.forward(right.X).context,
             equals(right.context)
                 .unless("the values are not projected: these are weighted sums of X",
                         [=] { return reference::product(right.weights, right.X); })
                 .unless("these are weighted sums of the keys, not of the values",
                         [=] { return reference::product(right.weights, right.keys); })
                 .unless("the context is the values: the weights aren't used", right.values)
                 .unless("the weights were used transposed", [=] {
                   return reference::product(reference::transposed(right.weights), right.values);
                 }));
}

TEST_CASE("with square weights no mix-up of the three goes unnoticed", "[A7][A8]") {
  const Example right = square_example();
  const Matrix& X = right.X;
  const Matrix& Q = right.attention.W_query;
  const Matrix& K = right.attention.W_key;
  const Matrix& V = right.attention.W_value;
  const auto transposed = [](const Matrix& w) { return reference::transposed(w); };
  const auto projected = [&](const Matrix& w) { return reference::product(X, w); };
  INFO("trace.context, with d_in = d_k = d_out = 3");
  auto matcher = equals(right.context);
  matcher.unless("W_key and W_value are swapped", context_of(X, Q, V, K))
      .unless("these are weighted sums of the keys, not of the values", context_of(X, Q, K, K))
      .unless("W_query and W_value are swapped", context_of(X, V, K, Q))
      .unless("W_query and W_key are swapped, or the scores transposed", context_of(X, K, Q, V))
      .unless("the three weights are passed on by one: W_key W_value W_query",
              context_of(X, K, V, Q))
      .unless("the three weights are passed on by two: W_value W_query W_key",
              context_of(X, V, Q, K))
      .unless("W_query is used transposed; square weights hide that",
              context_of(X, transposed(Q), K, V))
      .unless("W_key is used transposed; square weights hide that",
              context_of(X, Q, transposed(K), V))
      .unless("W_value is used transposed; square weights hide that",
              context_of(X, Q, K, transposed(V)))
      .unless("all three weights are used transposed, as PyTorch prints them",
              context_of(X, transposed(Q), transposed(K), transposed(V)))
      .unless("the values are not projected: these are weighted sums of X",
              context_of(projected(Q), projected(K), X))
      .unless("one weight matrix is used for both queries and keys: W_query",
              context_of(X, Q, Q, V))
      .unless("one weight matrix is used for both queries and keys: W_key", context_of(X, K, K, V))
      .unless("one weight matrix is used for both queries and values: W_query",
              context_of(X, Q, K, Q))
      .unless("the queries are not projected: they are X",
              context_of(X, projected(K), projected(V)))
      .unless("the keys are not projected: they are X", context_of(projected(Q), X, projected(V)))
      .unless("nothing is projected: this is chapter 01", context_of(X, X, X));
  CHECK_THAT(right.attention.forward(X).context, matcher);
}

TEST_CASE("the same weights serve any number of tokens") {
  Generator generator(6);
  const Attention attention(6, 5, generator);
  for (const std::size_t T : {1U, 2U, 5U, 33U, 97U, 130U, 257U}) {
    const Example right = computed(attention, normal_matrix(T, 6, generator));
    const Trace trace = attention.forward(right.X);
    INFO("T = " << T);
    CHECK_THAT(trace.weights, equals(right.weights));
    CHECK_THAT(trace.context, equals(right.context));
  }
}

// --- symmetry ----------------------------------------------------------------------------------

TEST_CASE("with one weight matrix the scores stay symmetric up to a constant per row", "[A6]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.scores, " << sizes
                        << "\n  with a constant in each row that makes its diagonal right");
  const Example right = with_one_weight_matrix(sizes);
  const Matrix scores = with_right_diagonal(right.attention.forward(right.X).scores, right);
  CHECK_THAT(over_largest(scores), equals(over_largest(reference::transposed(scores))));
}

TEST_CASE("two weight matrices break the symmetry", "[A7]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  if (sizes.T == 1) return;
  INFO("trace.scores, " << sizes
                        << "\n  with a constant in each row that makes its diagonal right");
  const Example right = random_example(sizes);
  const Matrix scores = with_right_diagonal(right.attention.forward(right.X).scores, right);
  CHECK_FALSE(same(scores, reference::transposed(scores)));
}

TEST_CASE("one token can score another high while the other scores it low", "[A7]") {
  // "it" and "boat" of the text.
  Generator unused(0);
  Attention attention(2, 2, unused);
  attention.W_query = {{0, 5}, {0, 0}};
  attention.W_key = {{1, 0}, {0, 1}};
  const Matrix scores = attention.forward({{1, 0}, {0, 1}}).scores;
  CHECK_THAT(scores(0, 1) - scores(0, 0), WithinAbs(5, tolerance));
  CHECK_THAT(scores(1, 0) - scores(1, 1), WithinAbs(0, tolerance));
}

TEST_CASE("the score of a pair goes through W_query W_keyᵀ and back through W_key W_queryᵀ",
          "[A7]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.scores, " << sizes);
  const Example right = random_example(sizes);
  const Attention& a = right.attention;
  const Matrix there = reference::dot_products(a.W_query, a.W_key);
  const Matrix back = reference::dot_products(a.W_key, a.W_query);
  const Matrix scores = with_right_diagonal(a.forward(right.X).scores, right);
  const auto through = [&](const Matrix& W) {
    return over_largest(reference::dot_products(reference::product(right.X, W), right.X));
  };
  CHECK_THAT(over_largest(scores), equals(through(there)));
  CHECK_THAT(over_largest(reference::transposed(scores)), equals(through(back)));
}

// --- values ------------------------------------------------------------------------------------

TEST_CASE("a different W_value changes the context and leaves the weights alone", "[A8]") {
  const Example right = square_example();
  Attention other = right.attention;
  for (Real& weight : other.W_value) weight += 1;
  const Trace after = other.forward(right.X);
  CHECK_THAT(after.weights, equals(right.weights));
  CHECK_FALSE(same(after.context, right.context));
}

TEST_CASE("a query that matches one key alone looks up its value", "[B2]") {
  // Three keys at right angles and far apart: softmax is then a look-up in a table.
  const Matrix keys = {{100, 0, 0}, {0, 100, 0}, {0, 0, 100}};
  const Matrix values = {{1, 2}, {3, 4}, {5, 6}};
  CHECK_THAT(attend({{0, 0, 1}}, keys, values).context, equals({{5, 6}}));
}

TEST_CASE("a query of zeros returns the mean of all values", "[B2]") {
  const Example right = square_example();
  const Matrix mean = reference::product(matrix(4, 4, Real(0.25)), right.values);
  CHECK_THAT(attend(matrix(4, 3), right.keys, right.values).context, equals(mean));
}

TEST_CASE("with one column in the keys each token attends most to the largest or smallest key") {
  const Sizes sizes = {33, 5, 1, 4, 12};
  const Example right = random_example(sizes);
  const Trace trace = right.attention.forward(right.X);
  const Matrix keys = reference::transposed(right.keys);
  const std::size_t largest = argmax(keys, 0);
  const std::size_t smallest = argmax(reference::divided(keys, -1), 0);
  std::size_t extremes = 0;
  for (std::size_t i = 0; i < sizes.T; ++i) {
    const std::size_t favourite = argmax(trace.weights, i);
    extremes += favourite == largest || favourite == smallest ? 1 : 0;
  }
  CHECK(extremes == sizes.T);
}

TEST_CASE("no context vector leaves the range of its column of values", "[A11]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.context, " << sizes);
  const Example right = random_example(sizes);
  CHECK(stays_in_range(right.attention.forward(right.X).context, right.values));
}

TEST_CASE("permuting keys and values together leaves the context alone", "[A20]") {
  Generator generator(3);
  const Matrix queries = normal_matrix(4, 3, generator);
  const Matrix keys = normal_matrix(5, 3, generator);
  const Matrix values = normal_matrix(5, 2, generator);
  const std::vector<std::size_t> order = {4, 2, 0, 1, 3};
  const Trace moved = attend(queries, reorder_rows(keys, order), reorder_rows(values, order));
  CHECK_THAT(moved.context, equals(context_of(queries, keys, values)));
}

// --- the weights -------------------------------------------------------------------------------

TEST_CASE("seed 42 draws the weights that PyTorch draws", "[B4][B5]") {
  Generator generator(42);
  const Attention attention(2, 2, generator);
  const auto printed = [](const Matrix& w) { return rounded(reference::transposed(w)); };
  CHECK_THAT(printed(attention.W_query), equals(decimals({{.5406, .5869}, {-.1657, .6496}})));
  CHECK_THAT(printed(attention.W_key), equals(decimals({{-.1549, .1427}, {-.3443, .4153}})));
  CHECK_THAT(printed(attention.W_value), equals(decimals({{.6233, -.5188}, {.6146, .1323}})));
}

TEST_CASE("each weight matrix takes its own numbers from the generator") {
  Generator generator(9);
  const Attention first(4, 3, generator);
  const Attention second(4, 3, generator);
  INFO("Does each draw get the generator itself, or a copy of it?");
  CHECK_FALSE(same(first.W_query, first.W_key));
  CHECK_FALSE(same(first.W_query, first.W_value));
  CHECK_FALSE(same(first.W_key, first.W_value));
  INFO("A second layer gets the weights of the first.");
  CHECK_FALSE(same(first.W_query, second.W_query));
}

TEST_CASE("the weights are three times d_in times d_out parameters", "[A9]") {
  Generator generator(1);
  const Attention small(2, 5, generator);
  CHECK(small.W_query.size() + small.W_key.size() + small.W_value.size() == 30);
  const Attention gpt2(768, 768, generator);
  CHECK(gpt2.W_query.size() + gpt2.W_key.size() + gpt2.W_value.size() == 1769472);
}

TEST_CASE("d_out is the width of queries and keys and values and the context", "[A9]") {
  Generator generator(1);
  const Trace trace = Attention(2, 7, generator).forward({{1, 2}, {3, 4}, {5, 6}});
  for (const Matrix& m : {trace.queries, trace.keys, trace.values, trace.context}) {
    CHECK(shape_text(m) == "(3, 7)");
  }
}

TEST_CASE("PyTorch computes the same unscaled forward pass") {
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

// --- what doesn't fit --------------------------------------------------------------------------

TEST_CASE("an input of the wrong width is rejected with both widths") {
  Generator generator(1);
  const Attention attention(3, 4, generator);
  CHECK_THAT(message_of([&] {
               attention.forward({{1, 2}, {3, 4}});
             }),
             ContainsSubstring("the inner sizes 2 and 3 differ"));
}

TEST_CASE("queries keys and values that don't fit together are rejected") {
  CHECK_THAT(message_of([] { attend(matrix(2, 3), matrix(4, 5), matrix(4, 6)); }),
             ContainsSubstring("the inner sizes 3 and 5 differ"));
  CHECK_THAT(message_of([] { attend(matrix(2, 3), matrix(4, 3), matrix(5, 6)); }),
             ContainsSubstring("the inner sizes 4 and 5 differ"));
}
