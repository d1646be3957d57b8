/// @file
/// @brief The demo of chapter 05: a small encoder and a small decoder, and the attention between
/// them.

#include "attention.hpp"

#include "common/command.hpp"
#include "common/measure.hpp"

namespace {

constexpr std::size_t width = 4;

/// What this chapter lets the reader choose.
struct Choices {
  std::string to = "el cielo es azul";
};

/// The mask that lets every asking token read every answering token.
Matrix all_zero_mask(std::size_t T_q, std::size_t T_k) {
  return matrix(T_q, T_k);
}

/// Weights of variance 1 are larger than those that a layer starts its training with: large enough
/// to see the maps of untrained layers differ from token to token.
Attention random_attention(Generator& generator) {
  Attention attention(width, width, generator);
  attention.W_query = normal_matrix(width, width, generator);
  attention.W_key = normal_matrix(width, width, generator);
  attention.W_value = normal_matrix(width, width, generator);
  return attention;
}

/// Three layers with weights of their own: one reads the source, one the target, one reads across.
struct Translator {
  Attention encoder;
  Attention decoder;
  Attention across;

  explicit Translator(Generator& generator)
      : encoder(random_attention(generator)),
        decoder(random_attention(generator)),
        across(random_attention(generator)) {}

  Trace encode(const Matrix& source) const {
    return encoder.forward(source, source, all_zero_mask(source.shape(0), source.shape(0)));
  }
  Trace decode(const Matrix& target) const {
    return decoder.forward(target, target, causal_mask(target.shape(0)));
  }
  Trace read_across(const Matrix& decoded, const Matrix& encoded) const {
    return across.forward(decoded, encoded, all_zero_mask(decoded.shape(0), encoded.shape(0)));
  }
  Matrix translate(const Matrix& source, const Matrix& target) const {
    return read_across(decode(target).context, encode(source).context).context;
  }
};

void show_self_attention(const std::string& key, const std::string& title, const Sequence& input,
                         const Trace& trace, Report& report) {
  report.section(key, title);
  report.matrix({"X", "", input.tokens, numbered("x", width)}, input.X);
  report.matrix({"weights", "softmax of each row", input.tokens, input.tokens}, trace.weights);
  report.matrix({"context", "weights values", input.tokens, numbered("z", width)}, trace.context);
}

void show_across(const Sequence& source, const Sequence& target, const Trace& trace,
                 Report& report) {
  report.section("across", "The decoder reads the encoder");
  report.matrix({"queries", "decoder's context W_query", target.tokens, numbered("q", width)},
                trace.queries);
  report.matrix({"keys", "encoder's context W_key", source.tokens, numbered("k", width)},
                trace.keys);
  report.matrix({"values", "encoder's context W_value", source.tokens, numbered("v", width)},
                trace.values);
  report.matrix({"scores", "queries keysᵀ", target.tokens, source.tokens}, trace.scores);
  report.matrix({"weights", "softmax of each row", target.tokens, source.tokens}, trace.weights);
  report.matrix({"context", "weights values", target.tokens, numbered("z", width)}, trace.context);
}

void show_unequal(const Options& options, Report& report) {
  report.section("unequal", "Three words asked by five");
  Generator generator(options.seed);
  const Translator translator(generator);
  const Sequence source = embed(split_words("they arrived late"), width, options.positions);
  const Sequence target =
      embed(split_words("ils sont arrivés en retard"), width, options.positions);
  const Trace trace = translator.read_across(translator.decode(target.X).context,
                                             translator.encode(source.X).context);
  report.matrix({"weights", "softmax of each row", target.tokens, source.tokens}, trace.weights);
  report.matrix({"context", "weights values", target.tokens, numbered("z", width)}, trace.context);
}

void show_self_as_a_case(const Options& options, Report& report) {
  report.section("itself", "A sequence that asks itself");
  const Sequence input = embed(split_words("draw a map"), 2, options.positions);
  Generator generator(options.seed);
  const Attention attention(2, 2, generator);
  report.matrix({"open", "context of the running example, no mask: chapter 03's", input.tokens,
                 numbered("v", 2)},
                attention.forward(input.X, input.X, all_zero_mask(3, 3)).context);
  report.matrix(
      {"masked", "context under the causal mask: chapter 04's", input.tokens, numbered("v", 2)},
      attention.forward(input.X, input.X, causal_mask(3)).context);
}

std::size_t rows_moved(const Matrix& before, const Matrix& after) {
  std::size_t moved = 0;
  for (std::size_t i = 0; i < before.shape(0); ++i)
    moved += row_of(before, i) == row_of(after, i) ? 0 : 1;
  return moved;
}

void show_who_moves(const Translator& translator, const Sequence& source, const Sequence& target,
                    Report& report) {
  report.section("moves", "Who is moved by whom");
  const Matrix before = translator.translate(source.X, target.X);
  Matrix other_source = source.X;
  const std::size_t last = source.tokens.size() - 1;
  xt::view(other_source, last, xt::all()) = Real{-1} * xt::view(source.X, last, xt::all());
  report.count("by_source", rows_moved(before, translator.translate(other_source, target.X)),
               fmt::format("of {} decoder rows move when the encoder's {} is turned around",
                           target.tokens.size(), quoted(source.tokens[last])));
  const std::size_t middle = target.tokens.size() / 2;
  Matrix other_target = target.X;
  xt::view(other_target, middle, xt::all()) = Real{-1} * xt::view(target.X, middle, xt::all());
  const Matrix after = translator.translate(source.X, other_target);
  report.count("by_target", rows_moved(before, after),
               fmt::format("of {} decoder rows move when the decoder's {}, token {}, is",
                           target.tokens.size(), quoted(target.tokens[middle]), middle + 1));
  std::size_t earlier = 0;
  for (std::size_t i = 0; i < middle; ++i) earlier += row_of(before, i) == row_of(after, i) ? 0 : 1;
  report.count("earlier", earlier, "of these rows lie before it");
}

void show_padding(const Translator& translator, const Sequence& source, const Sequence& target,
                  Report& report) {
  report.section("padding", "Tokens that only fill up");
  const std::size_t T_k = source.tokens.size();
  const std::size_t T_q = target.tokens.size();
  const Matrix queries_from = translator.decode(target.X).context;
  const Matrix encoded = translator.encode(source.X).context;
  Matrix padded = matrix(T_k + 2, width, 1);
  xt::view(padded, xt::range(0, T_k), xt::all()) = encoded;
  Labels tokens = source.tokens;
  tokens.insert(tokens.end(), 2, "(pad)");
  std::vector<bool> present(T_k, true);
  present.resize(T_k + 2, false);
  const Matrix mask = padding_mask(T_q, present);
  report.matrix({"mask", "", target.tokens, tokens, 0}, mask);
  const Trace trace = translator.across.forward(queries_from, padded, mask);
  report.matrix({"weights", "softmax of each row", target.tokens, tokens}, trace.weights);
  report.check("same_context",
               nearly_equal(trace.context, translator.read_across(queries_from, encoded).context),
               "the context is the one without padding");
  const Matrix nobody = padding_mask(T_q, std::vector<bool>(T_k + 2, false));
  report.matrix({"nothing_left", "context when every memory token is padding", target.tokens,
                 numbered("z", width)},
                translator.across.forward(queries_from, padded, nobody).context);
}

void demonstrate(const Options& options, const Choices& choices, Report& report) {
  const Sequence source = embed(split_words(options.text), width, options.positions);
  const Sequence target =
      embed(split_words(choices.to, "the text of --to"), width, options.positions);
  Generator generator(options.seed);
  const Translator translator(generator);
  const Trace encoded = translator.encode(source.X);
  const Trace decoded = translator.decode(target.X);
  const Trace across = translator.read_across(decoded.context, encoded.context);
  show_self_attention("encoder", "The encoder reads its own sentence", source, encoded, report);
  show_self_attention("decoder", "The decoder reads what it has so far", target, decoded, report);
  show_across(source, target, across, report);
  show_unequal(options, report);
  show_self_as_a_case(options, report);
  const Sequence few_sources = first_tokens(source, 16);  // enough to see who is moved
  const Sequence few_targets = first_tokens(target, 16);
  show_who_moves(translator, few_sources, few_targets, report);
  show_padding(translator, few_sources, few_targets, report);
  report.panel("encoder", encoded.weights, source.tokens, source.tokens, 1);
  report.panel("decoder", decoded.weights, target.tokens, target.tokens, 1);
  report.panel("decoder reads encoder", across.weights, target.tokens, source.tokens, 1);
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  Command command("05_cross_attention",
                  "Chapter 05: one sequence asks, another answers, step by step.",
                  "the sky is blue");
  command.add_text("--to", choices.to, "The words of the decoder, which ask those of --text");
  return command.run(argc, argv, [&](const Options& options, Report& report) {
    demonstrate(options, choices, report);
  });
}
