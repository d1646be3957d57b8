/// @file
/// @brief The demo of chapter 02: from one weight matrix to queries, keys and values.

#include "attention.hpp"
#include "common/command.hpp"
#include "common/measure.hpp"

namespace {

/// The sizes that this chapter lets the reader choose.
struct Sizes {
  std::size_t d_in = 2;
  std::size_t d_out = 2;
};

void show_input(const Sequence& input, Report& report) {
  report.section("input", "The input");
  report.matrix({"X", "", input.tokens, numbered("x", input.X.shape(1))}, input.X);
}

void show_one_weight(const Sequence& input, const Attention& attention, Report& report) {
  report.section("one_weight", "One weight matrix");
  Attention one = attention;
  one.W_key = one.W_query;
  report.say("One matrix W makes the queries and the keys:");
  report.matrix({"W", "", {}, {}}, one.W_query);
  const Trace trace = one.forward(input.X);
  report.matrix({"scores", "(X W)(X W)ᵀ", input.tokens, input.tokens}, trace.scores);
  const Matrix transposed_scores = xt::transpose(trace.scores);
  report.check("symmetric", nearly_equal(trace.scores, transposed_scores),
               "scores(i, j) = scores(j, i) for every pair");
}

void show_weights(const Attention& attention, Report& report) {
  report.section("weights", "Three weight matrices");
  const Matrix printed_query = xt::transpose(attention.W_query);
  const Matrix printed_key = xt::transpose(attention.W_key);
  const Matrix printed_value = xt::transpose(attention.W_value);
  report.say("As PyTorch prints them, (d_out, d_in):");
  report.matrix({"W_query_printed", "", {}, {}}, printed_query);
  report.matrix({"W_key_printed", "", {}, {}}, printed_key);
  report.matrix({"W_value_printed", "", {}, {}}, printed_value);
  report.say("As the formula X W uses them, (d_in, d_out):");
  report.matrix({"W_query", "", {}, {}}, attention.W_query);
  report.matrix({"W_key", "", {}, {}}, attention.W_key);
  report.matrix({"W_value", "", {}, {}}, attention.W_value);
}

Trace show_trace(const Sequence& input, const Attention& attention, Report& report) {
  report.section("trace", "Queries, keys, values");
  const Trace trace = attention.forward(input.X);
  const std::size_t d_out = trace.values.shape(1);
  report.matrix({"queries", "X W_query", input.tokens, numbered("q", d_out)}, trace.queries);
  report.matrix({"keys", "X W_key", input.tokens, numbered("k", d_out)}, trace.keys);
  report.matrix({"values", "X W_value", input.tokens, numbered("v", d_out)}, trace.values);
  report.matrix({"scores", "queries keysᵀ", input.tokens, input.tokens}, trace.scores);
  report.matrix({"weights", "softmax of each row of scores", input.tokens, input.tokens},
                trace.weights);
  report.matrix({"context", "weights values", input.tokens, numbered("v", d_out)}, trace.context);
  return trace;
}

void show_asymmetry(const Sequence& input, const Attention& attention, const Trace& trace,
                    Report& report) {
  report.section("asymmetry", "The symmetry is gone");
  const Matrix there = matmul(attention.W_query, xt::transpose(attention.W_key));
  const Matrix back = matmul(attention.W_key, xt::transpose(attention.W_query));
  report.matrix({"W_query W_keyᵀ", "what the pair (i, j) goes through", {}, {}}, there);
  report.matrix({"W_key W_queryᵀ", "what the pair (j, i) goes through", {}, {}}, back);
  const std::size_t last = input.tokens.size() - 1;
  const std::string first_word = quoted(input.tokens[0]);
  const std::string last_word = quoted(input.tokens[last]);
  report.number("first_to_last", static_cast<double>(trace.scores(0, last)), 4,
                fmt::format("the query of {} times the key of {}", first_word, last_word));
  report.number("last_to_first", static_cast<double>(trace.scores(last, 0)), 4,
                fmt::format("the query of {} times the key of {}", last_word, first_word));
  const Matrix transposed_scores = xt::transpose(trace.scores);
  report.check("asymmetric", !nearly_equal(trace.scores, transposed_scores),
               "scores(i, j) and scores(j, i) differ for some pair");
}

void show_look_up(const Sequence& input, const Trace& trace, Report& report) {
  report.section("look_up", "A look-up returns one value, attention a weighted sum of all");
  constexpr std::size_t spelled_out = 10;
  Matrix best(trace.values.shape());
  for (std::size_t i = 0; i < input.tokens.size(); ++i) {
    const std::size_t match = argmax(trace.scores, i);
    xt::view(best, i, xt::all()) = xt::view(trace.values, match, xt::all());
    if (i == spelled_out) report.say("  and so on, {} tokens in all", input.tokens.size());
    if (i >= spelled_out) continue;
    report.say("  {} matches the key of {} best and gives it {:.1f} % of its attention",
               quoted(input.tokens[i]), quoted(input.tokens[match]),
               100 * static_cast<double>(trace.weights(i, match)));
  }
  const Labels columns = numbered("v", trace.values.shape(1));
  report.matrix({"best_value", "the value of the best match alone", input.tokens, columns}, best);
  report.matrix({"context", "the weighted sum of all values", input.tokens, columns},
                trace.context);
}

void show_roles(const Sequence& input, const Attention& attention, const Trace& trace,
                Report& report) {
  report.section("roles", "What a token is matched by, and what it contributes");
  Attention other = attention;
  other.W_value = attention.W_key;
  const Trace changed = other.forward(input.X);
  report.check("same_weights", changed.weights == trace.weights,
               "with a different W_value the weights are the same, bit by bit");
  report.check("different_context", changed.context != trace.context,
               "with a different W_value the context is different");
}

void show_cost(const Sizes& sizes, Report& report) {
  report.section("cost", "What it costs");
  report.count("parameters", 3 * sizes.d_in * sizes.d_out,
               fmt::format("3 x {} x {}", grouped(sizes.d_in), grouped(sizes.d_out)));
  report.count("parameters_768", std::size_t{3} * 768 * 768, "at GPT-2's width: 3 x 768 x 768");
  report.count("with_output_768", std::size_t{4} * 768 * 768,
               "with chapter 06's output projection: 4 x 768 x 768");
}

void demonstrate(const Options& options, const Sizes& sizes, Report& report) {
  const Sequence input = embed(split_words(options.text), sizes.d_in, options.positions);
  Generator generator(options.seed);
  const Attention attention(sizes.d_in, sizes.d_out, generator);
  show_input(input, report);
  show_one_weight(input, attention, report);
  show_weights(attention, report);
  const Trace trace = show_trace(input, attention, report);
  show_asymmetry(input, attention, trace, report);
  show_look_up(input, trace, report);
  show_roles(input, attention, trace, report);
  show_cost(sizes, report);
  Attention one = attention;
  one.W_key = one.W_query;
  report.panel("scores, one W", one.forward(input.X).scores, input.tokens, input.tokens);
  report.panel("scores, W_query and W_key", trace.scores, input.tokens, input.tokens);
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  Command command("02_trainable_weights",
                  "Chapter 02: attention with trainable weights, step by step.");
  command.add_count("--d-in", sizes.d_in, "Width of the input", 1, 4096);
  command.add_count("--d-out", sizes.d_out, "Width of queries, keys, values and context", 1, 4096);
  return command.run(argc, argv, [&](const Options& options, Report& report) {
    demonstrate(options, sizes, report);
  });
}
