/// @file
/// @brief What chapter 01 says about attention without parameters, as tests.

#include "attention.hpp"

#include <limits>

#include "common/measure.hpp"
#include "common/text.hpp"
#include "reference.hpp"
#include "support.hpp"

namespace {

Matrix random_tokens(const Sizes& sizes) {
  Generator generator(sizes.seed);
  return normal_matrix(sizes.T, sizes.d_in, generator);
}

Matrix right_weights(const Matrix& X) {
  return reference::softmax(reference::dot_products(X, X));
}

MatrixMatcher are_the_weights_of(const Matrix& scores) {
  namespace wrong = reference::wrong;
  return equals(reference::softmax(scores))
      .unless(
          "the weights are normalised down the columns, so the columns sum to 1 and not the rows",
          wrong::softmax_down_the_columns(scores))
      .unless(
          "the weights are not normalised: the exponentials were not divided by the sum of their "
          "row",
          wrong::softmax_without_total(scores))
      .unless("the weights are not normalised: these are the bare exponentials of e",
              wrong::exponentials_alone(scores))
      .unless("the rows are divided by the sum of their scores: plain shares, not softmax",
              wrong::scores_over_their_sum(scores))
      .unless("the self-weight is missing: each token was kept from reading itself",
              wrong::softmax_without_diagonal(scores))
      .unless("the self-weight is missing: the diagonal was set to zero after softmax",
              wrong::softmax_then_no_diagonal(scores))
      .unless("the shares were made with exponentials of 2, not of e",
              wrong::softmax_of_base_two(scores))
      .unless("softmax was applied twice", reference::softmax(reference::softmax(scores)))
      .unless("softmax ran over the whole matrix at once, not row by row",
              wrong::softmax_of_everything(scores));
}

}  // namespace

TEST_CASE("the input is a word vector plus a place vector", "[A1]") {
  const Sequence input = embed(split_words("draw a map"), 2, true);
  for (std::size_t i = 0; i < 3; ++i) {
    const double sum = input.token_embeddings(i, 1) + input.position_embeddings(i, 1);
    CHECK_THAT(input.X(i, 1), WithinRel(sum, tolerance));
  }
  CHECK_THAT(
      input.X,
      equals({{Real(1.16), Real(0.23)}, {Real(0.57), Real(1.36)}, {Real(4.41), Real(-2.16)}}));
}

TEST_CASE("a pass runs the same for any number of tokens", "[A1]") {
  for (const std::size_t T : {1U, 2U, 5U, 33U}) {
    const Sequence input = embed(std::vector<std::string>(T, "word"), 6, true);
    INFO("T = " << T);
    CHECK_THAT(attend(input.X).context,
               equals(reference::product(right_weights(input.X), input.X)));
  }
}

TEST_CASE("the same words in another order are another input", "[A1][B1]") {
  const Matrix dogs_first = embed(split_words("dogs chase cats"), 4, true).X;
  const Matrix cats_first = embed(split_words("cats chase dogs"), 4, true).X;
  CHECK_FALSE(same(reorder_rows(dogs_first, {2, 1, 0}), cats_first));
}

TEST_CASE("a score is the dot product of two tokens", "[A2]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Matrix X = random_tokens(sizes);
  Matrix scores;
  REQUIRE_NOTHROW(scores = attend(X).scores);
  const Matrix right = without_row_means(reference::dot_products(X, X));
  auto matcher = equals(right);
  if (sizes.T == sizes.d_in) {
    matcher.unless("X X in place of X Xᵀ: a square X hides the missing transpose",
                   without_row_means(reference::product(X, X)));
  }
  CHECK_THAT(without_row_means(scores), matcher);
}

TEST_CASE("the weights are the softmax of the scores along each row", "[A2]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Matrix X = random_tokens(sizes);
  auto matcher = are_the_weights_of(reference::dot_products(X, X));
  matcher.unless("the scores are cosines: the tokens were brought to length 1 first",
                 reference::softmax(reference::wrong::cosines(X)));
  CHECK_THAT(attend(X).weights, matcher);
}

TEST_CASE("every row of weights is positive and sums to 1", "[A2]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Matrix weights = attend(random_tokens(sizes)).weights;
  for (const Real sum : row_sums(weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  for (const Real weight : weights) CHECK(weight >= 0);
}

TEST_CASE("the context is the weighted sum of all tokens", "[A2]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Matrix X = random_tokens(sizes);
  const Matrix weights = right_weights(X);
  auto matcher = equals(reference::product(weights, X));
  matcher.unless("the weights were used transposed: column i of the weights blends row i",
                 reference::product(reference::transposed(weights), X));
  matcher.unless("the context is the input itself: nothing was blended", X);
  matcher.unless("the scores were used as weights",
                 reference::product(reference::dot_products(X, X), X));
  matcher.unless("the input was added to the blend",
                 reference::sum(reference::product(weights, X), X));
  CHECK_THAT(attend(X).context, matcher);
}

TEST_CASE("the scores are symmetric", "[A3]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Matrix scores = attend(random_tokens(sizes)).scores;
  // Around three tokens in one direction and in the other: equal for a symmetric matrix, whatever
  // is added to its rows.
  for (std::size_t i = 2; i < sizes.T; ++i) {
    const Real one_way = scores(i, i - 1) + scores(i - 1, i - 2) + scores(i - 2, i);
    const double other_way = scores(i, i - 2) + scores(i - 2, i - 1) + scores(i - 1, i);
    CHECK_THAT(one_way, WithinAbs(other_way, tolerance) || WithinRel(other_way, tolerance));
  }
}

TEST_CASE("positions do not break the symmetry", "[A3][A4]") {
  const Matrix scores = attend(embed(split_words("the cat saw the dog"), 5, true).X).scores;
  for (std::size_t i = 2; i < 5; ++i) {
    const Real one_way = scores(i, i - 1) + scores(i - 1, i - 2) + scores(i - 2, i);
    const double other_way = scores(i, i - 2) + scores(i - 2, i - 1) + scores(i - 1, i);
    CHECK_THAT(one_way, WithinAbs(other_way, tolerance) || WithinRel(other_way, tolerance));
  }
}

TEST_CASE("without positions a repeated word has identical rows", "[A4]") {
  const Sequence input = embed(split_words("the cat saw the dog"), 5, false);
  const Trace trace = attend(input.X);
  const Matrix weights = reorder_rows(trace.weights, {3});
  const Matrix context = reorder_rows(trace.context, {3});
  CHECK_THAT(reorder_rows(trace.weights, {0}), equals(weights));
  CHECK_THAT(reorder_rows(trace.context, {0}), equals(context));
}

TEST_CASE("with positions a repeated word has two different rows", "[A4]") {
  const Trace trace = attend(embed(split_words("the cat saw the dog"), 5, true).X);
  CHECK_FALSE(same(reorder_rows(trace.weights, {0}), reorder_rows(trace.weights, {3})));
  CHECK_FALSE(same(reorder_rows(trace.context, {0}), reorder_rows(trace.context, {3})));
}

TEST_CASE("a token scores itself with its squared length", "[A5]") {
  const Matrix X = {{3, 4, 0}, {0, 0, 2}};  // lengths 5 and 2, at right angles
  const Matrix scores = attend(X).scores;
  CHECK_THAT(scores(0, 0) - scores(0, 1), WithinRel(25, tolerance));
  CHECK_THAT(scores(1, 1) - scores(1, 0), WithinRel(4, tolerance));
}

TEST_CASE("in many dimensions a token reads itself most", "[A5]") {
  Generator generator(5);
  std::size_t reads_itself_most = 0;
  for (std::size_t sentence = 0; sentence < 20; ++sentence) {
    const Matrix X = normal_matrix(8, 64, generator);
    const Trace trace = attend(X);
    for (std::size_t i = 0; i < 8; ++i) reads_itself_most += argmax(trace.weights, i) == i ? 1 : 0;
    if (sentence == 0) CHECK_THAT(trace.context, equals(reference::product(right_weights(X), X)));
  }
  INFO("If no token reads itself, the self-weight is missing.");
  CHECK(reads_itself_most == 160);
}

TEST_CASE("in two dimensions a long token draws the attention of short ones", "[A5]") {
  const Trace trace = attend(embed(split_words("draw a map"), 2, true).X);
  CHECK(argmax(trace.weights, 0) == 2);
  CHECK(argmax(trace.weights, 1) == 1);
  CHECK(argmax(trace.weights, 2) == 2);
}

TEST_CASE("no context leaves the range of its column", "[A11]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Matrix X = random_tokens(sizes);
  INFO("A weighted average cannot. Are the weights normalised, and are all of them at least zero?");
  CHECK(stays_in_range(attend(X).context, X));
}

TEST_CASE("permuting the tokens permutes the context and changes nothing else", "[A20]") {
  Generator generator(20);
  const Matrix X = normal_matrix(5, 3, generator);
  const std::vector<std::size_t> order = {3, 0, 4, 2, 1};
  CHECK_THAT(attend(reorder_rows(X, order)).context,
             equals(reorder_rows(attend(X).context, order)));
}

TEST_CASE("softmax gives shares where plain division fails", "[B3]") {
  const Matrix weights = softmax({{2, 1, -1}});
  auto matcher = equals(reference::softmax({{2, 1, -1}}));
  matcher.unless("the rows are divided by the sum of their scores: plain shares, not softmax",
                 {{Real(1), Real(0.5), Real(-0.5)}});
  CHECK_THAT(weights, matcher);
  CHECK_THAT(weights(0, 0), WithinAbs(0.705, 0.0005));
  CHECK_THAT(softmax({{1, 0, -1}}), equals(reference::softmax({{1, 0, -1}})));  // a sum of zero
}

TEST_CASE("one point more is e times the share", "[B3]") {
  const Matrix before = softmax({{2, 1, -1}});
  const Matrix after = softmax({{3, 1, -1}});
  const Real growth = after(0, 0) / after(0, 1) / (before(0, 0) / before(0, 1));
  CHECK_THAT(growth, WithinRel(2.718281828, tolerance));
}

TEST_CASE("scores of thousands do not overflow", "[B3]") {
  INFO(
      "A share that is not a number: the largest score of the row was not subtracted before the "
      "exponential.");
  CHECK_THAT(softmax({{1000, 999, -1000}}), equals(reference::softmax({{1, 0, -1999}})));
  CHECK_THAT(softmax({{10000, -10000, 9999}}), equals(reference::softmax({{1, -19999, 0}})));
}

TEST_CASE("scores far below zero do not vanish", "[B3]") {
  INFO(
      "A share that is not a number: the largest score of the row was not subtracted before the "
      "exponential.");
  CHECK_THAT(softmax({{-10000, -10001, -10002}}), equals(reference::softmax({{0, -1, -2}})));
  CHECK_THAT(softmax({{-1000, 0}, {-1000, -1000}}), equals({{0, 1}, {Real(0.5), Real(0.5)}}));
}

TEST_CASE("a number added to a whole row of scores changes no weight", "[B3]") {
  CHECK_THAT(softmax({{9, 8, 6}}), equals(softmax({{2, 1, -1}})));
}

TEST_CASE("a token alone reads itself alone", "[A2]") {
  const Trace trace = attend({{Real(0.5), -2, 3}});
  CHECK_THAT(trace.weights, equals({{1}}));
  CHECK_THAT(trace.context, equals({{Real(0.5), -2, 3}}));
}

TEST_CASE("a number that is not finite is refused by its place") {
  Matrix X = {{1, 2}, {3, 4}};
  X(1, 0) = std::numeric_limits<Real>::quiet_NaN();
  CHECK(throws_saying([&] { attend(X); }, "X(1, 0) is nan"));
  X(1, 0) = -std::numeric_limits<Real>::infinity();
  CHECK(throws_saying([&] { attend(X); }, "X(1, 0) is -inf"));
}

// --- what every chapter's code must do ---------------------------------------------------------

namespace shared {

constexpr std::size_t d_in = 5;

inline void self_attention(const Matrix& X) {
  attend(X);
}

}  // namespace shared

#include "shared/finiteness.hpp"
#include "shared/softmax.hpp"
