/// @file
/// @brief What chapter 01 says about attention without parameters, as tests.
///
/// A constant added to a whole row of scores changes no weight, so a version that has one is right
/// as well: scores are compared up to a constant per row.

#include "attention.hpp"

#include <cmath>
#include <set>

#include "common/measure.hpp"
#include "common/text.hpp"
#include "reference.hpp"
#include "support.hpp"

namespace shared {

constexpr std::size_t d_in = 5;

inline void self_attention(const Matrix& X) {
  attend(X);
}

}  // namespace shared

#include "shared/finiteness.hpp"
#include "shared/softmax.hpp"

namespace {

/// Random sizes, and some that are longer and wider than any small constant.
std::vector<Sizes> sizes_to_try() {
  std::vector<Sizes> all = random_sizes();
  all.insert(all.end(),
             {{2, 5, 0, 0, 21}, {33, 97, 0, 0, 22}, {97, 6, 0, 0, 23}, {130, 33, 0, 0, 24}});
  return all;
}

/// Random tokens whose self-scores are about 2 √d_in: large enough to tell the weights apart, small
/// enough for the tolerance.
Matrix random_tokens(const Sizes& sizes) {
  Generator generator(sizes.seed);
  const double scale = 1.4 / std::pow(static_cast<double>(sizes.d_in), 0.25);
  return normal_matrix(sizes.T, sizes.d_in, generator) * static_cast<Real>(scale);
}

Matrix right_weights(const Matrix& X) {
  return reference::softmax(reference::dot_products(X, X));
}

Matrix right_context(const Matrix& X) {
  return reference::product(right_weights(X), X);
}

/// Scores with a constant added to each row so that the diagonal is right: what is left of a
/// version that has its own constant in each row.
Matrix with_right_diagonal(const Matrix& scores, const Matrix& X) {
  const Matrix right = reference::dot_products(X, X);
  Matrix shifted = scores;
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const Real shift = right(i, i) - scores(i, i);
    for (std::size_t j = 0; j < scores.shape(1); ++j) shifted(i, j) += shift;
  }
  return shifted;
}

/// Entries relative to the largest, for a tolerance relative to it.
Matrix over_largest(const Matrix& m) {
  return reference::divided(m, max_abs(m));
}

/// All of the weight for the largest score of the row.
Matrix hard_maximum(const Matrix& scores) {
  Matrix weights = matrix(scores.shape(0), scores.shape(1));
  for (std::size_t i = 0; i < scores.shape(0); ++i) weights(i, argmax(scores, i)) = 1;
  return weights;
}

/// Scores that hide the tokens after each token.
Matrix without_later_tokens(Matrix scores) {
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    for (std::size_t j = i + 1; j < scores.shape(1); ++j) {
      scores(i, j) = -std::numeric_limits<Real>::infinity();
    }
  }
  return scores;
}

/// The squared distances of all pairs of tokens, negated.
Matrix nearness(const Matrix& X) {
  const Matrix dots = reference::dot_products(X, X);
  Matrix result = dots;
  for (std::size_t i = 0; i < dots.shape(0); ++i) {
    for (std::size_t j = 0; j < dots.shape(1); ++j) {
      result(i, j) = 2 * dots(i, j) - dots(i, i) - dots(j, j);
    }
  }
  return result;
}

MatrixMatcher are_the_weights_of(const Matrix& scores) {
  namespace wrong = reference::wrong;
  if (scores.shape(0) > 40) return equals(reference::softmax(scores));  // guesses take time
  MatrixMatcher matcher = shared::are_the_probabilities_of(scores);
  matcher
      .unless("softmax: the exponentials aren't divided by their row's sum",
              wrong::softmax_without_total(scores))
      .unless("the self-weight is missing: each token was kept from attending to itself",
              wrong::softmax_without_diagonal(scores))
      .unless("the self-weight is missing: the diagonal was set to zero after softmax",
              wrong::softmax_then_no_diagonal(scores))
      .unless("softmax of the negated scores: the worst match gets the largest weight",
              reference::softmax(reference::divided(scores, -1)))
      .unless("a hard maximum: each row gives everything to its largest score",
              hard_maximum(scores))
      .unless("later tokens are hidden, as under the causal mask of chapter 04",
              reference::softmax(without_later_tokens(scores)))
      .unless("the scores were used as weights, without softmax", scores)
      .unless(
          "all weights are equal, so the scores don't matter",
          matrix(scores.shape(0), scores.shape(1), Real(1) / static_cast<Real>(scores.shape(1))));
  return matcher;
}

Sequence sentence(const std::string& text, std::size_t d_in, bool positions = true) {
  return embed(split_words(text), d_in, positions);
}

}  // namespace

// --- the input ---------------------------------------------------------------------------------

TEST_CASE("the input is a token embedding plus a position embedding", "[A1]") {
  for (const std::size_t d_in : {2U, 5U, 8U}) {
    const Sequence input = sentence("draw a map of the way to the sea", d_in);
    INFO("d_in = " << d_in);
    CHECK_THAT(input.X, equals(reference::sum(input.token_embeddings, input.position_embeddings)));
  }
  CHECK_THAT(sentence("draw a map", 2).X,
             equals(decimals({{1.16, .23}, {.57, 1.36}, {4.41, -2.16}})));
}

TEST_CASE("position embeddings are sines and cosines that turn more slowly from pair to pair") {
  for (const std::size_t d_in : {2U, 6U, 7U}) {
    const Matrix found =
        embed(std::vector<std::string>(130, "word"), d_in, true).position_embeddings;
    Matrix right = found;
    for (std::size_t i = 0; i < 130; ++i) {
      for (std::size_t j = 0; j < d_in; ++j) {
        const double pair = std::floor(static_cast<double>(j) / 2);
        const double rate = std::pow(10000.0, -2 * pair / static_cast<double>(d_in));
        const double angle = static_cast<double>(i) * rate;
        right(i, j) = static_cast<Real>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
    INFO("d_in = " << d_in);
    CHECK_THAT(found, equals(right));
  }
}

TEST_CASE("the dot product of two position embeddings depends on their distance alone") {
  for (const std::size_t d_in : {2U, 8U}) {
    const Matrix P = embed(std::vector<std::string>(20, "word"), d_in, true).position_embeddings;
    const Matrix dots = attend(P).scores;
    for (std::size_t distance = 0; distance < 10; ++distance) {
      for (std::size_t i = 0; i < 10; ++i) {
        INFO("d_in = " << d_in << ", positions " << i << " and " << i + distance);
        // With the self-score taken away a constant in the row doesn't matter.
        const double got = static_cast<double>(dots(i, i + distance) - dots(i, i));
        const double first = static_cast<double>(dots(0, distance) - dots(0, 0));
        CHECK_THAT(got, WithinAbs(first, 10 * tolerance));
      }
    }
  }
}

TEST_CASE("a word has the same token embedding wherever it occurs") {
  const Sequence input = sentence("the cat saw the dog", 6);
  CHECK(identical(row_of(input.token_embeddings, 0), row_of(input.token_embeddings, 3)));
  CHECK(identical(row_of(input.token_embeddings, 1),
                  row_of(sentence("a cat", 6).token_embeddings, 1)));
}

TEST_CASE("the embeddings of other words are random numbers of mean 0 and variance 1") {
  std::vector<std::string> words;
  for (std::size_t n = 0; n < 2000; ++n) words.push_back("word" + std::to_string(n));
  const Matrix all = embed(words, 3, false).token_embeddings;
  double sum = 0;
  double squares = 0;
  double fourth_moment = 0;
  std::set<Real> different;
  for (const Real entry : all) {
    const double x = static_cast<double>(entry);
    sum += x;
    squares += x * x;
    fourth_moment += x * x * x * x;
    different.insert(entry);
  }
  const auto n = static_cast<double>(all.size());
  CHECK_THAT(sum / n, WithinAbs(0, 5 / std::sqrt(n)));
  CHECK_THAT(squares / n, WithinAbs(1, 5 * std::sqrt(2 / n)));
  CHECK_THAT(fourth_moment / n, WithinAbs(3, 5 * std::sqrt(96 / n)));  // a normal distribution
  CHECK(different.size() > all.size() * 9 / 10);
}

TEST_CASE("a score splits into word with word and position with position and the mixed terms") {
  const Sequence input = sentence("dogs chase cats across the street", 8);
  const Matrix& t = input.token_embeddings;
  const Matrix& p = input.position_embeddings;
  const Matrix pure = reference::sum(reference::dot_products(t, t), reference::dot_products(p, p));
  const Matrix mixed = reference::sum(reference::dot_products(t, p), reference::dot_products(p, t));
  CHECK_THAT(without_row_means(attend(input.X).scores),
             equals(without_row_means(reference::sum(pure, mixed))));
}

TEST_CASE("the same words in a different order are a different input", "[A1][B1]") {
  const Matrix dogs_first = sentence("dogs chase cats", 4).X;
  const Matrix cats_first = sentence("cats chase dogs", 4).X;
  CHECK_FALSE(same(reorder_rows(dogs_first, {2, 1, 0}), cats_first));
  const Matrix without = sentence("dogs chase cats", 4, false).X;
  CHECK(same(reorder_rows(without, {2, 1, 0}), sentence("cats chase dogs", 4, false).X));
}

// --- scores, weights, context ------------------------------------------------------------------

TEST_CASE("the scores are the dot products of all pairs up to a constant per row", "[A2]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.scores, " << sizes << "\n  Try it by hand with tokens such as {1, 0} and {3, 4}.");
  const Matrix X = random_tokens(sizes);
  const Matrix dots = reference::dot_products(X, X);
  Matrix scores;
  REQUIRE_NOTHROW(scores = attend(X).scores);
  auto matcher = equals(without_row_means(dots));
  if (sizes.T == sizes.d_in) {
    matcher.unless("X X in place of X Xᵀ: a square X hides the missing transpose",
                   without_row_means(reference::product(X, X)));
  }
  matcher
      .unless("the scores are cosines: the tokens were brought to length 1 first",
              without_row_means(reference::wrong::cosines(X)))
      .unless(
          "the scores are divided by √d_in; scaling comes in chapter 03",
          without_row_means(reference::divided(dots, std::sqrt(static_cast<double>(sizes.d_in)))))
      .unless("the scores are negated squared distances, not dot products",
              without_row_means(nearness(X)))
      .unless("the scores are negated", without_row_means(reference::divided(dots, -1)))
      .unless("trace.scores holds the weights", without_row_means(reference::softmax(dots)))
      .unless("trace.scores is zero or constant: the scores aren't recorded",
              matrix(sizes.T, sizes.T));
  CHECK_THAT(without_row_means(scores), matcher);
}

TEST_CASE("the weights are the softmax of the scores along each row", "[A2]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.weights, " << sizes << "\n  Each row of weights comes from the same row of scores.");
  const Matrix X = random_tokens(sizes);
  const Matrix dots = reference::dot_products(X, X);
  auto matcher = are_the_weights_of(dots);
  matcher
      .unless("the scores are cosines: the tokens were brought to length 1 first",
              reference::softmax(reference::wrong::cosines(X)))
      .unless(
          "the scores are divided by √d_in; scaling comes in chapter 03",
          reference::softmax(reference::divided(dots, std::sqrt(static_cast<double>(sizes.d_in)))))
      .unless("the scores are negated squared distances, not dot products",
              reference::softmax(nearness(X)));
  CHECK_THAT(attend(X).weights, matcher);
}

TEST_CASE("every attention weight is positive and every row sums to 1", "[A2]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.weights, " << sizes);
  const Matrix weights = attend(random_tokens(sizes)).weights;
  for (const Real sum : row_sums(weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  CHECK(std::count_if(weights.begin(), weights.end(), [](Real w) { return !(w > 0); }) == 0);
}

TEST_CASE("the context is the weighted sum of all tokens", "[A2]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.context, " << sizes << "\n  Row i is the sum of weight (i, j) times token j.");
  const Matrix X = random_tokens(sizes);
  const Matrix weights = right_weights(X);
  auto matcher = equals(right_context(X));
  matcher
      .unless("the weights were used transposed: column i of the weights makes row i",
              [=] { return reference::product(reference::transposed(weights), X); })
      .unless("the context is the input itself: the weights aren't used", X)
      .unless("the scores were used as weights",
              [=] { return reference::product(reference::dot_products(X, X), X); })
      .unless("the input was added to the weighted sum",
              [=] { return reference::sum(right_context(X), X); })
      .unless("each token's own vector is missing from its weighted sum",
              [=] {
                return reference::product(
                    reference::wrong::softmax_then_no_diagonal(reference::dot_products(X, X)), X);
              })
      .unless("the context is the plain mean of all tokens", [=] {
        const Real each = Real(1) / static_cast<Real>(sizes.T);
        return reference::product(matrix(sizes.T, sizes.T, each), X);
      });
  CHECK_THAT(attend(X).context, matcher);
}

TEST_CASE("attention runs the same for any number of tokens", "[A1]") {
  for (const std::size_t T : {1U, 2U, 5U, 33U, 97U, 130U, 257U}) {
    const Matrix X = embed(std::vector<std::string>(T, "word"), 6, true).X;
    const Matrix weights = right_weights(X);
    const Trace trace = attend(X);
    INFO("T = " << T);
    CHECK_THAT(trace.weights, equals(weights));
    CHECK_THAT(trace.context, equals(reference::product(weights, X)));
  }
}

TEST_CASE("a sequence in a batch gets the result it gets alone", "[A1]") {
  const std::vector<Sizes> batch = {{4, 3, 0, 0, 1}, {4, 3, 0, 0, 2}, {7, 3, 0, 0, 3}};
  for (const Sizes& sizes : batch) {
    INFO("after other sequences: does attend keep something from call to call?");
    CHECK_THAT(attend(random_tokens(sizes)).context, equals(right_context(random_tokens(sizes))));
  }
  INFO("two sequences stacked into one X do mix");
  const Matrix first = random_tokens(batch[0]);
  const Matrix both = xt::concatenate(xt::xtuple(first, random_tokens(batch[2])), 0);
  const Matrix mixed = xt::view(attend(both).context, xt::range(0, 4), xt::all());
  CHECK_FALSE(same(mixed, right_context(first)));
}

TEST_CASE("a single token attends to itself alone", "[A2]") {
  const Trace trace = attend({{Real(0.5), -2, 3}});
  CHECK_THAT(trace.weights, equals({{1}}));
  CHECK_THAT(trace.context, equals({{Real(0.5), -2, 3}}));
}

// --- softmax -----------------------------------------------------------------------------------

TEST_CASE("softmax gives probabilities where dividing by the sum fails", "[B3]") {
  const Matrix weights = softmax({{2, 1, -1}});
  CHECK_THAT(weights, are_the_weights_of({{2, 1, -1}}));
  CHECK_THAT(weights(0, 0), WithinAbs(0.705, 0.0005));
  CHECK_THAT(softmax({{1, 0, -1}}), equals(reference::softmax({{1, 0, -1}})));  // a sum of zero
}

TEST_CASE("one point more multiplies the ratio to every other weight by e", "[B3]") {
  const Matrix before = softmax({{2, 1, -1}});
  const Matrix after = softmax({{3, 1, -1}});
  for (const std::size_t j : {1U, 2U}) {
    const Real growth = after(0, 0) / after(0, j) / (before(0, 0) / before(0, j));
    CHECK_THAT(growth, WithinRel(2.718281828, tolerance));
  }
}

TEST_CASE("a constant added to a row of scores changes no weight", "[B3]") {
  CHECK_THAT(softmax({{9, 8, 6}}), equals(softmax({{2, 1, -1}})));
  CHECK_THAT(softmax({{2, 1, -1}, {-48, -49, -51}}), equals(softmax({{2, 1, -1}, {2, 1, -1}})));
}

TEST_CASE("a small rise of any score changes every weight of a soft maximum and none of a hard one",
          "[B3]") {
  const Matrix scores = {{2, 1, -1}};
  for (std::size_t k = 0; k < 3; ++k) {
    Matrix risen = scores;
    risen(0, k) += Real(0.1);
    for (std::size_t j = 0; j < 3; ++j) {
      INFO("score " << k << " rises, and weight " << j << " is looked at");
      const Real change = softmax(risen)(0, j) - softmax(scores)(0, j);
      CHECK(std::abs(change) > Real(5e-4));
      CHECK((change > 0) == (j == k));
    }
    CHECK(identical(hard_maximum(risen), hard_maximum(scores)));
  }
}

// --- symmetry ----------------------------------------------------------------------------------

TEST_CASE("the scores are symmetric up to a constant per row", "[A3]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.scores, " << sizes
                        << "\n  with a constant in each row that makes its diagonal right");
  const Matrix X = random_tokens(sizes);
  const Matrix scores = over_largest(with_right_diagonal(attend(X).scores, X));
  CHECK_THAT(scores, equals(reference::transposed(scores)));
}

TEST_CASE("positions do not break the symmetry", "[A3][A4]") {
  const Matrix X = sentence("the cat saw the dog", 5).X;
  const Matrix scores = over_largest(with_right_diagonal(attend(X).scores, X));
  CHECK_THAT(scores, equals(reference::transposed(scores)));
}

TEST_CASE("symmetric scores give asymmetric weights", "[A3]") {
  const Matrix weights = attend(sentence("draw a map", 2).X).weights;
  CHECK_THAT(weights(0, 2), WithinAbs(0.9380, 5e-5));
  CHECK_THAT(weights(2, 0), WithinAbs(3.4e-9, 5e-11));
}

TEST_CASE("two weights of a pair differ by the sums of their rows alone", "[A3]") {
  const Matrix X = random_tokens({9, 4, 0, 0, 31});
  const Matrix scores = reference::dot_products(X, X);
  const Matrix weights = attend(X).weights;
  const auto sum = [&](std::size_t i) {
    double total = 0;
    for (std::size_t j = 0; j < 9; ++j) total += std::exp(static_cast<double>(scores(i, j)));
    return total;
  };
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double there = static_cast<double>(weights(i, j)) * sum(i);
      const double back = static_cast<double>(weights(j, i)) * sum(j);
      INFO("tokens " << i << " and " << j);
      CHECK_THAT(there, WithinRel(back, 10 * tolerance));
    }
  }
}

// --- lengths and angles ------------------------------------------------------------------------

TEST_CASE("the score of a token with itself is its squared length", "[A5]") {
  const Matrix X = {{3, 4, 0}, {0, 0, 2}};  // lengths 5 and 2, and a score of 0 between them
  const Matrix scores = attend(X).scores;
  CHECK_THAT(scores(0, 0) - scores(0, 1), WithinRel(25, tolerance));
  CHECK_THAT(scores(1, 1) - scores(1, 0), WithinRel(4, tolerance));
}

TEST_CASE("the dot product prefers a long token where the cosine does not", "[A5]") {
  const Matrix X = sentence("draw a map", 2).X;
  const Matrix weights = attend(X).weights;
  CHECK(argmax(weights, 0) == 2);
  CHECK(argmax(weights, 1) == 1);
  CHECK(argmax(weights, 2) == 2);
  const Matrix cosines = reference::wrong::cosines(X);
  for (std::size_t i = 0; i < 3; ++i) CHECK(argmax(cosines, i) == i);
  // Twice as long, with the same directions.
  const Matrix doubled = X * Real(2);
  CHECK_THAT(reference::wrong::cosines(doubled), equals(cosines));
  CHECK_THAT(without_row_means(attend(doubled).scores),
             equals(without_row_means(reference::dot_products(X, X) * Real(4))));
}

TEST_CASE("self-scores grow as d and the others as the square root of d", "[A5]") {
  constexpr std::size_t T = 8;
  constexpr std::size_t sentences = 100;
  for (const std::size_t d : {2U, 8U, 32U, 128U}) {
    Generator generator(d);
    double above_the_others = 0;
    double squares = 0;
    for (std::size_t n = 0; n < sentences; ++n) {
      const Matrix scores = attend(normal_matrix(T, d, generator)).scores;
      for (std::size_t i = 0; i < T; ++i) {
        // Differences within a row: a constant added to it doesn't matter.
        const std::size_t j = (i + 1) % T;
        const std::size_t k = (i + 2) % T;
        above_the_others += static_cast<double>(scores(i, i) - scores(i, j));
        const double difference = static_cast<double>(scores(i, j) - scores(i, k));
        squares += difference * difference / 2;  // two independent scores have twice the variance
      }
    }
    const double width = static_cast<double>(d);
    const double n = static_cast<double>(sentences * T);
    INFO("d = " << d << ", " << n << " tokens");
    // Five standard errors: one difference has variance 3 d; a square's standard deviation is at
    // most 3 d.
    CHECK_THAT(above_the_others / n, WithinAbs(width, 5 * std::sqrt(3 * width / n)));
    CHECK_THAT(squares / n, WithinAbs(width, 5 * 3 * width / std::sqrt(n)));
  }
}

TEST_CASE("the longest token attends to itself most", "[A5]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.weights, " << sizes);
  const Matrix X = random_tokens(sizes);
  const Matrix dots = reference::dot_products(X, X);
  std::size_t longest = 0;
  for (std::size_t i = 1; i < sizes.T; ++i) {
    if (dots(i, i) > dots(longest, longest)) longest = i;
  }
  CHECK(argmax(attend(X).weights, longest) == longest);
}

TEST_CASE("in many dimensions every token attends to itself most", "[A5]") {
  Generator generator(5);
  std::size_t most = 0;
  for (std::size_t n = 0; n < 20; ++n) {
    const Matrix weights = attend(normal_matrix(8, 64, generator)).weights;
    for (std::size_t i = 0; i < 8; ++i) most += argmax(weights, i) == i ? 1 : 0;
  }
  INFO("If no token attends to itself, the self-weight is missing.");
  CHECK(most == 160);
}

// --- repeated words, order, range --------------------------------------------------------------

TEST_CASE("without positions a repeated word has equal rows", "[A4]") {
  const Trace trace = attend(sentence("the cat saw the dog", 5, false).X);
  for (const Matrix& m : {trace.scores, trace.weights, trace.context}) {
    CHECK_THAT(without_row_means(row_of(m, 0)), equals(without_row_means(row_of(m, 3))));
  }
  CHECK_THAT(row_of(trace.weights, 0), equals(row_of(trace.weights, 3)));
  CHECK_THAT(row_of(trace.context, 0), equals(row_of(trace.context, 3)));
}

TEST_CASE("with positions a repeated word has different rows", "[A4]") {
  const Trace trace = attend(sentence("the cat saw the dog", 5).X);
  CHECK_FALSE(same(row_of(trace.weights, 0), row_of(trace.weights, 3)));
  CHECK_FALSE(same(row_of(trace.context, 0), row_of(trace.context, 3)));
}

TEST_CASE("permuting the tokens permutes scores and weights and context and changes nothing else",
          "[A20]") {
  const Matrix X = random_tokens({5, 3, 0, 0, 20});
  const std::vector<std::size_t> order = {3, 0, 4, 2, 1};
  const auto reordered = [&](const Matrix& m) {  // rows and columns
    const Matrix columns = reference::transposed(reorder_rows(m, order));
    return reference::transposed(reorder_rows(columns, order));
  };
  const Trace before = attend(X);
  const Trace after = attend(reorder_rows(X, order));
  CHECK_THAT(without_row_means(after.scores), equals(without_row_means(reordered(before.scores))));
  CHECK_THAT(after.weights, equals(reordered(before.weights)));
  CHECK_THAT(after.context, equals(reorder_rows(before.context, order)));
}

TEST_CASE("no context vector leaves the range of its column", "[A11]") {
  const Sizes sizes = GENERATE(from_range(sizes_to_try()));
  INFO("trace.context, " << sizes
                         << "\n  A weighted average stays inside: do the weights sum to 1, and are "
                            "all of them positive?");
  const Matrix X = random_tokens(sizes);
  CHECK(stays_in_range(attend(X).context, X));
}
