/// @file
/// @brief The demo of chapter 04: the causal mask, the leak that it closes, and dropout.

#include "attention.hpp"

#include "common/command.hpp"
#include "common/measure.hpp"

namespace {

constexpr std::size_t d_in = 2;

/// What this chapter lets the reader choose.
struct Choices {
  bool mask = true;
  double dropout = 0.5;
};

/// The mask that hides nothing.
Matrix all_zero_mask(std::size_t T) {
  return matrix(T, T);
}

Trace show_trace(const Sequence& input, const Attention& attention, const Matrix& mask,
                 Report& report) {
  report.section("trace", "The running example, masked");
  const Labels& tokens = input.tokens;
  const Trace trace = attention.forward(input.X, mask);
  report.matrix({"mask", "", tokens, tokens, 0}, mask);
  report.matrix({"scaled", "scores / √d_k", tokens, tokens}, trace.scaled);
  report.matrix({"masked", "scaled + mask", tokens, tokens}, trace.masked);
  report.matrix({"weights", "softmax of each row", tokens, tokens}, trace.weights);
  report.matrix({"values", "X W_value", tokens, numbered("v", d_in)}, trace.values);
  report.matrix({"context", "weights values", tokens, numbered("v", d_in)}, trace.context);
  return trace;
}

/// A layer that cheats: each token's query is 30 times the key of the token after it. Tokens are
/// one-hot, so a row of the context shows which tokens it contains.
Attention copier(std::size_t T) {
  Generator unused(0);
  Attention attention(T, T, unused);
  attention.W_query = matrix(T, T);
  attention.W_key = matrix(T, T);
  for (std::size_t i = 0; i < T; ++i) attention.W_key(i, i) = 1;
  for (std::size_t i = 0; i + 1 < T; ++i) attention.W_query(i, i + 1) = 30;
  attention.W_value = attention.W_key;
  return attention;
}

/// How many rows contain more of the next token than of any other.
std::size_t right_guesses(const Matrix& context) {
  std::size_t right = 0;
  for (std::size_t i = 0; i + 1 < context.shape(0); ++i) right += argmax(context, i) == i + 1;
  return right;
}

void show_cheat(Report& report) {
  report.section("cheat", "A layer that copies the answers");
  const Labels tokens = split_words("the cat sat down");
  const std::size_t T = tokens.size();
  const Attention attention = copier(T);
  const Matrix X = attention.W_key;  // one-hot
  const Matrix open = attention.forward(X, all_zero_mask(T)).context;
  const Matrix masked = attention.forward(X, causal_mask(T)).context;
  report.matrix({"open", "what each context contains, mask off", tokens, tokens, 2}, open);
  report.count("right_open", right_guesses(open),
               fmt::format("of {} next tokens guessed with the mask off", T - 1));
  report.matrix({"masked", "what each context contains, mask on", tokens, tokens, 2}, masked);
  report.count("right_masked", right_guesses(masked),
               fmt::format("of {} next tokens guessed with the mask on", T - 1));
}

void show_comparison(const Sequence& input, const Attention& attention, const Trace& trace,
                     Report& report) {
  report.section("open", "The same without a mask");
  const std::size_t last = input.tokens.size() - 1;
  const Matrix open = attention.forward(input.X, all_zero_mask(input.tokens.size())).context;
  report.matrix({"context", "weights values, mask off", input.tokens, numbered("v", d_in)}, open);
  report.check("first_row", row_of(trace.context, 0) == row_of(trace.values, 0),
               "the first token attends only to itself: its context is its value");
  report.check("last_row", row_of(trace.context, last) == row_of(open, last),
               "nothing was hidden from the last token: its row is the same");
}

/// The worked example of chapter 03.
struct Worked {
  Matrix queries = {{1, 0}, {0, 1}, {1, 1}};
  Matrix keys = {{1, 0}, {0, 1}, {1, 1}};
  Matrix values = {{1, 0}, {0, 2}, {3, 1}};
  Labels tokens = numbered("token ", 3);
};

/// Zeros where the mask is −∞.
Matrix zeroed(const Matrix& weights, const Matrix& mask) {
  return xt::where(xt::isinf(mask), Real{0}, weights);
}

/// Each row divided by its sum.
Matrix renormalised(const Matrix& weights) {
  Matrix result = weights;
  for (std::size_t i = 0; i < weights.shape(0); ++i) {
    xt::view(result, i, xt::all()) = xt::view(weights, i, xt::all()) / row_sum(weights, i);
  }
  return result;
}

Matrix four_decimals(const Matrix& m) {
  return xt::round(m * Real{10000}) / Real{10000};
}

void show_two_ways(Report& report) {
  report.section("two_ways", "Two ways to the same weights");
  const Worked worked;
  const Matrix mask = causal_mask(3);
  const Matrix open = attend(worked.queries, worked.keys, worked.values, all_zero_mask(3)).weights;
  const Matrix masked = attend(worked.queries, worked.keys, worked.values, mask).weights;
  const Matrix after = zeroed(open, mask);
  report.matrix({"open", "weights of the worked example, no mask", worked.tokens, worked.tokens},
                open);
  report.matrix({"before", "−∞ added before softmax", worked.tokens, worked.tokens}, masked);
  report.matrix({"after", "hidden weights set to zero after softmax", worked.tokens, worked.tokens},
                after);
  report.number("rest_of_row_2", static_cast<double>(row_sum(after, 1)), 4,
                "what is left of row 2");
  report.matrix(
      {"renormalised", "each row divided by what is left of it", worked.tokens, worked.tokens},
      renormalised(after));
  report.check("equal", nearly_equal(masked, renormalised(after)),
               "both ways give the same weights");
  const Matrix by_hand = renormalised(four_decimals(after));
  report.matrix(
      {"by_hand", "the same from weights rounded to four decimals", worked.tokens, worked.tokens},
      by_hand);
}

void show_future(const Sequence& input, const Attention& attention, const Matrix& mask,
                 Report& report) {
  report.section("future", "The last token negated");
  const std::size_t last = input.tokens.size() - 1;
  Matrix changed = input.X;
  xt::view(changed, last, xt::all()) = Real{-1} * xt::view(input.X, last, xt::all());
  const Matrix before = attention.forward(input.X, mask).context;
  const Matrix after = attention.forward(changed, mask).context;
  report.matrix({"after", fmt::format("context with {} negated", quoted(input.tokens[last])),
                 input.tokens, numbered("v", d_in)},
                after);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < last; ++i) moved += row_of(before, i) == row_of(after, i) ? 0 : 1;
  report.count("rows_moved", moved,
               fmt::format("of the {} earlier rows changed by a bit or more", last));
}

void show_one_by_one(const Sequence& all, const Attention& attention, Report& report) {
  report.section("one_by_one", "All rows at once, or one at a time");
  const Sequence input = first_tokens(all, 16);  // later tokens would change no row
  const std::size_t T = input.tokens.size();
  Matrix rows = matrix(T, d_in);
  for (std::size_t i = 0; i < T; ++i) {
    const Matrix so_far = first_tokens(input, i + 1).X;
    const Matrix context = attention.forward(so_far, causal_mask(i + 1)).context;
    xt::view(rows, i, xt::all()) = xt::view(context, i, xt::all());
  }
  report.matrix({"rows", "context of each token, computed before the later ones arrive",
                 input.tokens, numbered("v", d_in)},
                rows);
  report.check("equal", nearly_equal(rows, attention.forward(input.X, causal_mask(T)).context),
               "the same as all rows at once under the mask");
}

void show_repeated_word(const Attention& attention, Report& report) {
  report.section("repeated", "A repeated word, positions off");
  const Sequence input = embed(split_words("the cat saw the dog"), d_in, false);
  const Matrix open = attention.forward(input.X, all_zero_mask(5)).context;
  const Matrix masked = attention.forward(input.X, causal_mask(5)).context;
  report.matrix({"open", "context, mask off", input.tokens, numbered("v", d_in)}, open);
  report.matrix({"masked", "context, mask on", input.tokens, numbered("v", d_in)}, masked);
  report.check("identical_open", nearly_equal(row_of(open, 0), row_of(open, 3)),
               "mask off: both \"the\" have the same context");
  report.check("different_masked", !nearly_equal(row_of(masked, 0), row_of(masked, 3)),
               "mask on: the two \"the\" have different contexts");
}

void show_substitutes(Report& report) {
  report.section("substitutes", "A large negative number in place of −∞");
  const Matrix keys = {{-1}, {1}};
  const Matrix values = {{1}, {2}};
  report.say(
      "The first of two tokens scores itself with −20 and the hidden token with 20, or with "
      "−20,000 "
      "and 20,000.");
  const Labels names = {"−20", "−30", "−50", "−100", "−10⁴", "−10²³", "−∞"};
  const Vector substitutes = {
      -20, -30, -50, -100, Real(-1e4), Real(-1e23), -std::numeric_limits<Real>::infinity()};
  Matrix leaked = matrix(substitutes.size(), 2);
  std::vector<Real> halves;
  for (std::size_t n = 0; n < substitutes.size(); ++n) {
    const Matrix mask = {{0, substitutes(n)}, {0, 0}};
    leaked(n, 0) = attend({{20}, {20}}, keys, values, mask).weights(0, 1);
    leaked(n, 1) = attend({{20000}, {20000}}, keys, values, mask).weights(0, 1);
    halves.push_back(rounded_to_half(substitutes(n)));
  }
  report.matrix({"leaked", "weight on the hidden token", names, {"±20", "±20,000"}, 6}, leaked);
  report.matrix({"halves", "the stand-in in half precision", names, {"half"}, 0}, column(halves));
}

void show_dropout(const Choices& choices, const Options& options, Report& report) {
  report.section("dropout", fmt::format("Dropout with probability {}", choices.dropout));
  const Worked worked;
  const Matrix mask = causal_mask(3);
  Generator generator(options.seed);
  const auto p = static_cast<Real>(choices.dropout);
  const Trace once =
      attend(worked.queries, worked.keys, worked.values, mask, Training{p, generator});
  report.matrix({"weights", "softmax of each row", worked.tokens, worked.tokens}, once.weights);
  report.matrix({"weights_after_dropout", "after one draw", worked.tokens, worked.tokens},
                once.weights_after_dropout);
  constexpr std::size_t draws = 40000;
  Matrix mean = matrix(3, 3);
  for (std::size_t draw = 0; draw < draws; ++draw) {
    mean += dropout(once.weights, p, generator) / Real{draws};
  }
  report.matrix({"mean", "the mean of 40,000 draws", worked.tokens, worked.tokens, 2}, mean);
  const Trace inference = attend(worked.queries, worked.keys, worked.values, mask);
  report.check("inference", inference.weights_after_dropout == inference.weights,
               "at inference nothing is dropped");
}

void demonstrate(const Options& options, const Choices& choices, Report& report) {
  const Sequence input = embed(split_words(options.text), d_in, options.positions);
  const std::size_t T = input.tokens.size();
  Generator generator(options.seed);
  const Attention attention(d_in, d_in, generator);
  const auto mask_for = [&](std::size_t tokens) {
    return choices.mask ? causal_mask(tokens) : all_zero_mask(tokens);
  };
  const Matrix mask = mask_for(T);
  const Trace trace = show_trace(input, attention, mask, report);
  show_cheat(report);
  show_comparison(input, attention, trace, report);
  const Sequence few = first_tokens(input, 16);  // enough to see which rows change
  show_future(few, attention, mask_for(few.tokens.size()), report);
  show_one_by_one(input, attention, report);
  show_two_ways(report);
  show_repeated_word(attention, report);
  show_substitutes(report);
  show_dropout(choices, options, report);
  report.panel("scaled scores", trace.scaled, input.tokens, input.tokens);
  report.panel("masked", trace.masked, input.tokens, input.tokens);
  report.panel("weights", trace.weights, input.tokens, input.tokens, 1);
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  Command command("04_causal_mask", "Chapter 04: no token attends to later ones, step by step.");
  command.add_switch("--mask", choices.mask, "Hide later tokens from each token");
  command.add_number("--dropout", choices.dropout, "Probability to drop a weight while training", 0,
                     1);
  return command.run(argc, argv, [&](const Options& options, Report& report) {
    demonstrate(options, choices, report);
  });
}
