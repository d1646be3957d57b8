/// @file
/// @brief The demo of chapter 01: attention without parameters, one step after the other.

#include "attention.hpp"

#include "common/command.hpp"
#include "common/measure.hpp"
#include "common/random.hpp"

namespace {

constexpr std::size_t d_in = 2;
const Labels dimensions = numbered("x", d_in);

void show_input(const Sequence& input, Report& report) {
  report.section("input", "The input");
  report.say("Each token is a row: the vector of its word plus the vector of its place.");
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

std::size_t count_reading_themselves_most(const Matrix& weights) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < weights.shape(0); ++i) count += argmax(weights, i) == i ? 1 : 0;
  return count;
}

void show_symmetry(const Sequence& input, const Trace& trace, Report& report) {
  report.section("symmetry", "Symmetry and the diagonal");
  const Matrix turned = xt::transpose(trace.scores);
  report.check("symmetric", nearly_equal(trace.scores, turned),
               "scores(i, j) = scores(j, i) for every pair");
  std::vector<Real> squared_lengths;
  for (std::size_t i = 0; i < input.tokens.size(); ++i) {
    squared_lengths.push_back(xt::sum(xt::square(xt::view(input.X, i, xt::all())))());
  }
  report.matrix({"squared_lengths", "the diagonal of scores", input.tokens, {"|x|²"}},
                column(squared_lengths));
  report.count(
      "read_themselves_most", count_reading_themselves_most(trace.weights),
      fmt::format("of {} tokens give the largest weight to themselves", input.tokens.size()));
}

/// Sentences of eight random tokens: the more dimensions, the surer it is that a token reads itself
/// most.
void show_diagonal_by_dimension(std::uint64_t seed, Report& report) {
  report.section("dimensions", "Who reads themselves most, by dimension");
  Labels rows;
  std::vector<Real> percentages;
  Generator generator(seed);
  for (const std::size_t d : {2U, 4U, 8U, 16U, 32U, 64U}) {
    constexpr std::size_t sentences = 100;
    constexpr std::size_t T = 8;
    std::size_t count = 0;
    for (std::size_t sentence = 0; sentence < sentences; ++sentence) {
      count += count_reading_themselves_most(attend(normal_matrix(T, d, generator)).weights);
    }
    rows.push_back(fmt::format("d_in = {}", d));
    percentages.push_back(static_cast<Real>(100 * count) / Real{sentences * T});
  }
  report.matrix({"percent",
                 "tokens that give themselves the largest weight, in 100 random sentences",
                 rows,
                 {"%"},
                 1},
                column(percentages));
}

/// The rows of the first word that stands twice, or nothing.
std::vector<std::size_t> repeated_rows(const std::vector<std::string>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::size_t j = i + 1; j < tokens.size(); ++j) {
      if (tokens[i] == tokens[j]) return {i, j};
    }
  }
  return {};
}

void show_repeated_word(const std::vector<std::string>& tokens, bool positions, Report& report) {
  const std::vector<std::size_t> twins = repeated_rows(tokens);
  report.section(positions ? "repeated_on" : "repeated_off",
                 fmt::format("A word twice, positions {}", positions ? "on" : "off"));
  const Sequence input = embed(tokens, d_in, positions);
  const Trace trace = attend(input.X);
  report.matrix({"scores", "X Xᵀ", tokens, tokens}, trace.scores);
  report.matrix({"context", "weights X", tokens, dimensions}, trace.context);
  const Matrix first = xt::view(trace.context, xt::range(twins[0], twins[0] + 1), xt::all());
  const Matrix second = xt::view(trace.context, xt::range(twins[1], twins[1] + 1), xt::all());
  report.check("identical", first == second,
               fmt::format("rows {} and {}, both {}, have the same context", twins[0] + 1,
                           twins[1] + 1, quoted(tokens[twins[0]])));
  const Matrix turned = xt::transpose(trace.scores);
  report.check("symmetric", nearly_equal(trace.scores, turned), "the scores are symmetric");
}

void show_softmax(Report& report) {
  report.section("softmax", "Why softmax and not plain shares");
  const Matrix scores = {{2, 1, -1}};
  const Matrix larger = {{3, 1, -1}};
  const Labels desserts = {"first", "second", "third"};
  report.say("Three scores, 2, 1 and -1, are to become shares of a whole.");
  const Matrix naive = scores * Real{100} / xt::sum(scores)();
  const Matrix shares = softmax(scores) * Real{100};
  const Matrix exponentials = xt::exp(scores);
  report.matrix({"naive_percent", "scores / their sum", {}, desserts, 1}, naive);
  report.matrix({"exponentials", "e to the scores", {}, desserts, 3}, exponentials);
  report.number("total", static_cast<double>(xt::sum(exponentials)()), 3,
                "the sum of the exponentials");
  report.matrix({"softmax_percent", "exponentials / their sum", {}, desserts, 1}, shares);
  const Matrix grown = softmax(larger);
  const Matrix before = softmax(scores);
  report.number("one_point_more",
                static_cast<double>(grown(0, 0) / grown(0, 1) / (before(0, 0) / before(0, 1))), 3,
                "how the first share grows against the second when its score rises by 1");
  report.say(
      "Scores that sum to zero, such as 1, 0 and -1, have no plain shares at all. Softmax gives "
      "them:");
  const Matrix balanced = {{1, 0, -1}};
  const Matrix balanced_shares = softmax(balanced) * Real{100};
  report.matrix({"balanced_percent", "softmax of 1, 0, -1", {}, desserts, 1}, balanced_shares);
}

void show_order(const Sequence& input, Report& report) {
  report.section("order", "Attention does not know the order");
  std::vector<std::size_t> backwards(input.tokens.size());
  for (std::size_t i = 0; i < backwards.size(); ++i) backwards[i] = backwards.size() - 1 - i;
  const std::vector<std::string> words(input.tokens.rbegin(), input.tokens.rend());
  const Matrix moved = attend(reorder_rows(input.X, backwards)).context;
  report.matrix({"rows_reversed", "context of the rows of X in reverse order", words, dimensions},
                moved);
  const Matrix expected = reorder_rows(attend(input.X).context, backwards);
  report.check("follows", nearly_equal(moved, expected),
               "the same vectors as before, in reverse order: nothing else has changed");
  report.matrix(
      {"words_reversed", "context of the words in reverse order, each place with its own vector",
       words, dimensions},
      attend(embed(words, d_in, true).X).context);
}

void demonstrate(const Options& options, Report& report) {
  const Sequence input = embed(split_words(options.text), d_in, options.positions);
  show_input(input, report);
  const Trace trace = show_trace(input, report);
  show_symmetry(input, trace, report);
  show_diagonal_by_dimension(options.seed, report);
  const bool has_twins = !repeated_rows(input.tokens).empty();
  const std::vector<std::string> twins =
      has_twins ? input.tokens : split_words("the cat saw the dog");
  show_repeated_word(twins, false, report);
  show_repeated_word(twins, true, report);
  show_softmax(report);
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
