/// @file
/// @brief The demo of chapter 01: attention without parameters, step by step.

#include "attention.hpp"

#include "common/command.hpp"
#include "common/measure.hpp"
#include "common/random.hpp"

namespace {

constexpr std::size_t d_in = 2;
const Labels dimensions = numbered("x", d_in);

void show_input(const Sequence& input, Report& report) {
  report.section("input", "The input");
  report.say("Each token is a row: its token embedding plus the embedding of its position.");
  report.matrix({"token_embeddings", "", input.tokens, dimensions}, input.token_embeddings);
  report.matrix({"position_embeddings", "", input.tokens, dimensions}, input.position_embeddings);
  report.matrix({"X", "token_embeddings + position_embeddings", input.tokens, dimensions}, input.X);
}

Trace show_trace(const Sequence& input, Report& report) {
  report.section("trace", "Scores, weights, context");
  const Trace trace = attend(input.X);
  report.matrix({"scores", "X Xᵀ", input.tokens, input.tokens}, trace.scores);
  report.matrix({"weights", "softmax of each row of scores", input.tokens, input.tokens},
                trace.weights);
  report.matrix({"context", "weights X", input.tokens, dimensions}, trace.context);
  return trace;
}

/// All of the weight for the largest score: the maximum that softmax is the soft version of.
Matrix hard_maximum(const Matrix& scores) {
  Matrix weights = matrix(scores.shape(0), scores.shape(1));
  for (std::size_t i = 0; i < scores.shape(0); ++i) weights(i, argmax(scores, i)) = 1;
  return weights;
}

/// By how many percentage points each weight changes when the score of that row rises by 0.1.
Matrix changes_in_percent(const Matrix& scores, Matrix (*probabilities)(const Matrix&)) {
  const std::size_t T = scores.shape(1);
  Matrix before = matrix(T, T);
  for (std::size_t i = 0; i < T; ++i) xt::view(before, i, xt::all()) = xt::view(scores, 0);
  Matrix after = before;
  for (std::size_t i = 0; i < T; ++i) after(i, i) += Real(0.1);
  return Real(100) * (probabilities(after) - probabilities(before));
}

void show_softmax(Report& report) {
  report.section("softmax", "Why softmax");
  const Matrix scores = {{2, 1, -1}};
  const Labels columns = {"first", "second", "third"};
  report.say("Three scores, 2, 1 and -1, should become positive weights that sum to 100 %.");
  const Matrix naive = Real(100) * scores / xt::sum(scores)();
  report.matrix({"naive_percent", "scores / their sum", {}, columns, 1}, naive);
  const Matrix exponentials = xt::exp(scores);
  report.matrix({"exponentials", "e to the scores", {}, columns, 3}, exponentials);
  report.number("total", static_cast<double>(row_sum(exponentials, 0)), 3,
                "the sum of the exponentials");
  const Matrix weights = softmax(scores);
  const Matrix percent = Real(100) * weights;
  report.matrix({"softmax_percent", "exponentials / their sum", {}, columns, 1}, percent);
  const Matrix raised = softmax({{3, 1, -1}});
  const auto growth = raised(0, 0) / raised(0, 1) / (weights(0, 0) / weights(0, 1));
  report.number("one_point_more", static_cast<double>(growth), 3,
                "how much first/second grows when the first score rises by 1");
  report.say("The scores 1, 0 and -1 sum to zero, so dividing by their sum is impossible.");
  const Matrix balanced = Real(100) * softmax({{1, 0, -1}});
  report.matrix({"balanced_percent", "softmax of 1, 0, -1", {}, columns, 1}, balanced);
}

void show_soft_and_hard(Report& report) {
  report.section("soft", "Soft and hard maximum");
  const Matrix scores = {{2, 1, -1}};
  const Labels columns = {"first", "second", "third"};
  const Labels rows = {"first + 0.1", "second + 0.1", "third + 0.1"};
  report.say("The scores are 2, 1 and -1 again. One of them rises by 0.1:");
  report.matrix(
      {"soft_change", "percentage points by which softmax moves each weight", rows, columns, 3},
      changes_in_percent(scores, softmax));
  report.matrix({"hard_change", "the same for a hard maximum", rows, columns, 3},
                changes_in_percent(scores, hard_maximum));
}

/// The sum that softmax divides a row's exponentials by, here without the maximum taken away.
double sum_of_exponentials(const Matrix& scores, std::size_t row) {
  double sum = 0;
  for (std::size_t j = 0; j < scores.shape(1); ++j) {
    sum += std::exp(static_cast<double>(scores(row, j)));
  }
  return sum;
}

void show_symmetry(const Sequence& input, const Trace& trace, Report& report) {
  report.section("symmetry", "Symmetric scores, asymmetric weights");
  const std::size_t last = input.tokens.size() - 1;
  const std::string first_word = quoted(input.tokens[0]);
  const std::string last_word = quoted(input.tokens[last]);
  const Matrix scores_transposed = xt::transpose(trace.scores);
  const Matrix weights_transposed = xt::transpose(trace.weights);
  report.check("symmetric", nearly_equal(trace.scores, scores_transposed),
               "scores(i, j) = scores(j, i) for every pair");
  report.check("asymmetric_weights", !nearly_equal(trace.weights, weights_transposed),
               "weights(i, j) and weights(j, i) differ for some pair");
  report.number("score_of_both", static_cast<double>(trace.scores(0, last)), 4,
                fmt::format("{} and {}, either way", first_word, last_word));
  report.number("sum_of_first_row", sum_of_exponentials(trace.scores, 0), 4,
                fmt::format("the exponentials in row {}", first_word));
  report.number("sum_of_last_row", sum_of_exponentials(trace.scores, last), 4,
                fmt::format("the exponentials in row {}", last_word));
  report.number("first_to_last", static_cast<double>(trace.weights(0, last)), 10,
                fmt::format("how much {} attends to {}", first_word, last_word));
  report.number("last_to_first", static_cast<double>(trace.weights(last, 0)), 10,
                fmt::format("how much {} attends to {}", last_word, first_word));
}

std::size_t attending_to_themselves_most(const Matrix& weights) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < weights.shape(0); ++i) count += argmax(weights, i) == i ? 1 : 0;
  return count;
}

void show_lengths(const Sequence& input, const Trace& trace, Report& report) {
  report.section("lengths", "Lengths and angles");
  const std::size_t T = input.tokens.size();
  Matrix lengths = matrix(T, 2);
  for (std::size_t i = 0; i < T; ++i) {
    lengths(i, 1) = xt::sum(xt::square(xt::view(input.X, i)))();
    lengths(i, 0) = std::sqrt(lengths(i, 1));
  }
  Matrix cosines = trace.scores;
  for (std::size_t i = 0; i < T; ++i) {
    for (std::size_t j = 0; j < T; ++j) cosines(i, j) /= lengths(i, 0) * lengths(j, 0);
  }
  report.matrix(
      {"lengths", "length and squared length of each token", input.tokens, {"|x|", "|x|²"}},
      lengths);
  report.matrix(
      {"cosines", "scores / (|x| of the row · |x| of the column)", input.tokens, input.tokens},
      cosines);
  report.count("attend_to_themselves_most", attending_to_themselves_most(trace.weights),
               fmt::format("of {} tokens", T));
}

/// Sentences of eight random tokens in `d` dimensions.
struct RandomSentences {
  double self_score = 0;   // the mean of the diagonals
  double cross_score = 0;  // the root mean square of all other scores
  double percent = 0;      // of the tokens, those that attend to themselves most
};

RandomSentences random_sentences(std::size_t d, Generator& generator) {
  constexpr std::size_t sentences = 100;
  constexpr std::size_t T = 8;
  double diagonal = 0;
  double squares = 0;
  std::size_t count = 0;
  for (std::size_t sentence = 0; sentence < sentences; ++sentence) {
    const Trace trace = attend(normal_matrix(T, d, generator));
    count += attending_to_themselves_most(trace.weights);
    for (std::size_t i = 0; i < T; ++i) {
      for (std::size_t j = 0; j < T; ++j) {
        const auto score = static_cast<double>(trace.scores(i, j));
        (i == j ? diagonal : squares) += i == j ? score : score * score;
      }
    }
  }
  constexpr double tokens = sentences * T;
  return {diagonal / tokens, std::sqrt(squares / (tokens * (T - 1))),
          100 * static_cast<double>(count) / tokens};
}

void show_dimensions(std::uint64_t seed, Report& report) {
  report.section("dimensions", "More dimensions");
  Generator generator(seed);
  Labels rows;
  const std::vector<std::size_t> widths = {2, 4, 8, 16, 32, 64};
  Matrix table = matrix(widths.size(), 4);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const RandomSentences found = random_sentences(widths[i], generator);
    rows.push_back(fmt::format("d_in = {}", widths[i]));
    table(i, 0) = static_cast<Real>(found.self_score);
    table(i, 1) = static_cast<Real>(found.cross_score);
    table(i, 2) = std::sqrt(static_cast<Real>(widths[i]));
    table(i, 3) = static_cast<Real>(found.percent);
  }
  report.say("A hundred sentences of eight random tokens each: the mean score of a token with");
  report.say("itself, the root mean square of its scores with others, and how many percent of the");
  report.say("tokens attend to themselves most.");
  report.matrix({"by_dimension", "", rows, {"self", "others", "√d_in", "percent"}, 1}, table);
}

/// The first two rows of the same word, or nothing.
std::vector<std::size_t> repeated_rows(const std::vector<std::string>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::size_t j = i + 1; j < tokens.size(); ++j) {
      if (tokens[i] == tokens[j]) return {i, j};
    }
  }
  return {};
}

void show_repeated_word(const std::vector<std::string>& tokens, bool positions, Report& report) {
  const std::vector<std::size_t> rows = repeated_rows(tokens);
  report.section(positions ? "repeated_on" : "repeated_off",
                 fmt::format("A repeated word, positions {}", positions ? "on" : "off"));
  const Sequence input = embed(tokens, d_in, positions);
  const Trace trace = attend(input.X);
  report.matrix({"scores", "X Xᵀ", tokens, tokens}, trace.scores);
  report.matrix({"context", "weights X", tokens, dimensions}, trace.context);
  const bool identical = row_of(trace.context, rows[0]) == row_of(trace.context, rows[1]);
  const std::string both = fmt::format("rows {} and {}, both {}, have", rows[0] + 1, rows[1] + 1,
                                       quoted(tokens[rows[0]]));
  if (positions) {
    report.check("different", !identical, both + " different context vectors");
  } else {
    report.check("identical", identical, both + " the same context vector");
  }
  const Matrix transposed_scores = xt::transpose(trace.scores);
  report.check("symmetric", nearly_equal(trace.scores, transposed_scores),
               "the scores are symmetric");
}

void show_order(const Sequence& input, Report& report) {
  report.section("order", "Attention does not see the order");
  std::vector<std::size_t> backwards(input.tokens.size());
  for (std::size_t i = 0; i < backwards.size(); ++i) backwards[i] = backwards.size() - 1 - i;
  const std::vector<std::string> words(input.tokens.rbegin(), input.tokens.rend());
  const Matrix moved = attend(reorder_rows(input.X, backwards)).context;
  report.matrix({"rows_reversed", "context of the rows of X in reverse order", words, dimensions},
                moved);
  const Matrix expected = reorder_rows(attend(input.X).context, backwards);
  report.check("follows", nearly_equal(moved, expected),
               "these are the context vectors from above, in reverse order");
  report.matrix(
      {"words_reversed", "context of the words in reverse order, embedded anew", words, dimensions},
      attend(embed(words, d_in, true).X).context);
}

void demonstrate(const Options& options, Report& report) {
  const Sequence input = embed(split_words(options.text), d_in, options.positions);
  show_input(input, report);
  const Trace trace = show_trace(input, report);
  show_softmax(report);
  show_soft_and_hard(report);
  show_symmetry(input, trace, report);
  show_lengths(input, trace, report);
  show_dimensions(options.seed, report);
  const bool repeats_a_word = !repeated_rows(input.tokens).empty();
  const std::vector<std::string> words =
      repeats_a_word ? input.tokens : split_words("the cat saw the dog");
  show_repeated_word(words, false, report);
  show_repeated_word(words, true, report);
  show_order(first_tokens(input, 16), report);
  report.panel("scores", trace.scores, input.tokens, input.tokens);
  report.panel("weights", trace.weights, input.tokens, input.tokens, 1);
  report.panel("context", trace.context, input.tokens, dimensions);
}

}  // namespace

int main(int argc, char** argv) {
  Command command("01_parameter_free", "Chapter 01: attention without parameters, step by step.");
  return command.run(argc, argv, demonstrate);
}
