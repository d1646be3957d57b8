/// @file
/// @brief The demo of chapter 05: a small encoder, a small decoder, and the cross-attention between
/// them.

#include <optional>
#include <utility>

#include "common/random.hpp"
#include "common/tensor.hpp"

// Before this chapter's own: both name their functions alike.
namespace chapter_04 {
#include "chapters/04_causal_mask/attention.hpp"
}

#include "attention.hpp"

#include "common/command.hpp"
#include "common/measure.hpp"

namespace {

constexpr std::size_t width = 4;
const std::string start_token = "(start)";
const std::string end_token = "(end)";
const std::string pad_token = "(pad)";

/// What this chapter lets the reader choose.
struct Choices {
  std::string to = "el cielo es azul";
};

Matrix all_zero_mask(std::size_t T_q, std::size_t T_k) {
  return matrix(T_q, T_k);
}

/// Weights of variance 1 are larger than those that a layer starts its training with: large enough
/// for the maps of untrained layers to differ from token to token.
Attention random_attention(std::size_t d_in, Generator& generator) {
  Attention attention(d_in, width, generator);
  attention.W_query = normal_matrix(d_in, width, generator);
  attention.W_key = normal_matrix(d_in, width, generator);
  attention.W_value = normal_matrix(d_in, width, generator);
  return attention;
}

/// An encoder, a decoder, and the cross-attention between them, each with its own weights.
struct Translator {
  Attention encoder;
  Attention decoder;
  Attention cross;

  explicit Translator(Generator& generator)
      : encoder(random_attention(width, generator)),
        decoder(random_attention(width, generator)),
        cross(random_attention(width, generator)) {}

  Trace encode(const Matrix& source) const {
    return encoder.forward(source, source, all_zero_mask(source.shape(0), source.shape(0)));
  }
  Trace decode(const Matrix& target) const {
    return decoder.forward(target, target, causal_mask(target.shape(0)));
  }
  Trace attend_to(const Matrix& memory, const Matrix& decoded) const {
    return cross.forward(decoded, memory, all_zero_mask(decoded.shape(0), memory.shape(0)));
  }
  Matrix translate(const Matrix& source, const Matrix& target) const {
    return attend_to(encode(source).context, decode(target).context).context;
  }
};

/// What the decoder is given: the words of the target after the start token.
std::vector<std::string> decoder_input(std::vector<std::string> target) {
  target.insert(target.begin(), start_token);
  return target;
}

void show_targets(const Labels& tokens, Report& report) {
  report.section("targets", "What each row of the decoder predicts");
  report.say("  input      predicts");
  constexpr std::size_t most = 10;
  for (std::size_t i = 0; i < std::min(tokens.size(), most); ++i) {
    const std::string& next = i + 1 < tokens.size() ? tokens[i + 1] : end_token;
    report.say("  {:<9}  {}", clip(tokens[i], 9), clip(next, 20));
  }
  if (tokens.size() > most) report.say("  …");
  report.count("rows", tokens.size(), "rows, one for each word and one for the end");
}

void show_self_attention(const std::string& key, const std::string& title, const Sequence& input,
                         const Trace& trace, Report& report) {
  report.section(key, title);
  report.matrix({"X", "", input.tokens, numbered("x", width)}, input.X);
  report.matrix({"weights", "softmax of each row", input.tokens, input.tokens}, trace.weights);
  report.matrix({"context", "weights values", input.tokens, numbered("z", width)}, trace.context);
}

void show_cross(const Sequence& source, const Sequence& target, const Trace& trace,
                Report& report) {
  report.section("cross", "Cross-attention: from the decoder to the encoder output");
  report.matrix({"queries", "decoder's context W_query", target.tokens, numbered("q", width)},
                trace.queries);
  report.matrix({"keys", "encoder output W_key", source.tokens, numbered("k", width)}, trace.keys);
  report.matrix({"values", "encoder output W_value", source.tokens, numbered("v", width)},
                trace.values);
  report.matrix({"scores", "queries keysᵀ", target.tokens, source.tokens}, trace.scores);
  report.matrix({"scaled", "scores / √4", target.tokens, source.tokens}, trace.scaled);
  report.matrix({"weights", "softmax of each row", target.tokens, source.tokens}, trace.weights);
  report.matrix({"context", "weights values", target.tokens, numbered("z", width)}, trace.context);
}

void show_unequal(const Options& options, Report& report) {
  report.section("unequal", "Three words and five");
  Generator generator(options.seed);
  const Translator translator(generator);
  const Sequence source = embed(split_words("they arrived late"), width, options.positions);
  const Sequence target =
      embed(decoder_input(split_words("ils sont arrivés en retard")), width, options.positions);
  const Trace trace = translator.attend_to(translator.encode(source.X).context,
                                           translator.decode(target.X).context);
  report.matrix({"weights", "softmax of each row", target.tokens, source.tokens}, trace.weights);
}

void show_one_class(const Options& options, Report& report) {
  report.section("itself", "Self-attention: the same tensor twice");
  const Sequence input = embed(split_words("draw a map"), 2, options.positions);
  Generator generator(options.seed);
  const Attention attention(2, 2, generator);
  report.matrix({"unmasked", "context of the running example, all-zero mask: chapter 03's",
                 input.tokens, numbered("v", 2)},
                attention.forward(input.X, input.X, all_zero_mask(3, 3)).context);
  report.matrix(
      {"masked", "context under the causal mask: chapter 04's", input.tokens, numbered("v", 2)},
      attention.forward(input.X, input.X, causal_mask(3)).context);
}

/// Keys know the words' positions and values don't, as in models that find a token by where it is
/// and take what it is.
void show_three_inputs(const Translator& translator, const Sequence& source, const Sequence& target,
                       Report& report) {
  report.section("three", "Queries, keys and values from three inputs");
  const Attention& cross = translator.cross;
  const Matrix decoded = translator.decode(target.X).context;
  const Trace trace = attend(matmul(decoded, cross.W_query), matmul(source.X, cross.W_key),
                             matmul(source.token_embeddings, cross.W_value),
                             all_zero_mask(target.tokens.size(), source.tokens.size()));
  report.matrix({"weights", "queries from the decoder, keys from X", target.tokens, source.tokens},
                trace.weights);
  report.matrix({"context", "weights times values from the token embeddings alone", target.tokens,
                 numbered("z", width)},
                trace.context);
}

std::size_t rows_changed(const Matrix& before, const Matrix& after) {
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.shape(0); ++i)
    changed += row_of(before, i) == row_of(after, i) ? 0 : 1;
  return changed;
}

Matrix with_row_negated(Matrix m, std::size_t row) {
  xt::view(m, row, xt::all()) *= Real{-1};
  return m;
}

void show_reach(const Translator& translator, const Sequence& source, const Sequence& target,
                Report& report) {
  report.section("reach", "How far a change reaches");
  const Matrix before = translator.translate(source.X, target.X);
  const std::size_t last = source.tokens.size() - 1;
  report.count(
      "by_source",
      rows_changed(before, translator.translate(with_row_negated(source.X, last), target.X)),
      fmt::format("of {} decoder rows change when the encoder's {} is negated",
                  target.tokens.size(), quoted(source.tokens[last])));
  const std::size_t middle = target.tokens.size() / 2;
  const Matrix after = translator.translate(source.X, with_row_negated(target.X, middle));
  report.count("by_target", rows_changed(before, after),
               fmt::format("of {} decoder rows change when the decoder's {}, token {}, is",
                           target.tokens.size(), quoted(target.tokens[middle]), middle + 1));
  std::size_t earlier = 0;
  for (std::size_t i = 0; i < middle; ++i) earlier += row_of(before, i) == row_of(after, i) ? 0 : 1;
  report.count("earlier", earlier, "of these rows come before it");
}

void show_padding(const Translator& translator, const Sequence& source, const Sequence& target,
                  Report& report) {
  report.section("padding", "Two tokens of padding in the encoder output");
  const std::size_t T_k = source.tokens.size();
  const Matrix decoded = translator.decode(target.X).context;
  const Matrix memory = translator.encode(source.X).context;
  Matrix padded = matrix(T_k + 2, width, 1);
  xt::view(padded, xt::range(0, T_k), xt::all()) = memory;
  Labels tokens = source.tokens;
  tokens.insert(tokens.end(), 2, pad_token);
  std::vector<bool> present(T_k, true);
  present.resize(T_k + 2, false);
  const Matrix mask = padding_mask(target.tokens.size(), present);
  report.matrix({"mask", "", target.tokens, tokens, 0}, mask);
  const Trace trace = translator.cross.forward(decoded, padded, mask);
  report.matrix({"weights", "softmax of each row", target.tokens, tokens}, trace.weights);
  report.check("same_context",
               nearly_equal(trace.context, translator.attend_to(memory, decoded).context),
               "the context is the one without padding");
}

/// A batch that pads on the left, as decoders like it: then the first rows see nothing but padding.
void show_fully_masked(const Translator& translator, const Sequence& target, const Options& options,
                       Report& report) {
  report.section("fully_masked", "Padding on the left: two fully masked rows");
  Labels tokens = first_tokens(target, 2).tokens;
  tokens.insert(tokens.begin(), 2, pad_token);
  const Sequence padded = embed(tokens, width, options.positions);
  std::vector<bool> present(tokens.size(), true);
  present[0] = present[1] = false;
  const Matrix mask = causal_mask(tokens.size()) + padding_mask(tokens.size(), present);
  report.matrix({"mask", "causal mask + padding mask", tokens, tokens, 0}, mask);
  const Trace trace = translator.decoder.forward(padded.X, padded.X, mask);
  report.matrix({"weights", "softmax of each row", tokens, tokens}, trace.weights);
  report.matrix({"context", "weights values", tokens, numbered("z", width)}, trace.context);
  const Matrix old_weights = chapter_04::softmax(trace.masked);
  const auto is_nan = [](Real weight) { return std::isnan(weight); };
  report.count(
      "nan",
      static_cast<std::size_t>(std::count_if(old_weights.begin(), old_weights.end(), is_nan)),
      fmt::format("of {} weights are nan with chapter 04's softmax", old_weights.size()));
  const Matrix words = xt::view(padded.X, xt::range(2, tokens.size()), xt::all());
  const Matrix rows = xt::view(trace.context, xt::range(2, tokens.size()), xt::all());
  report.check("others", nearly_equal(rows, translator.decode(words).context),
               "the other rows are those of the words without padding");
}

/// A picture of 4 x 6 pixels, sky over sea, cut into four patches.
void show_image(const Sequence& target, const Matrix& decoded, const Options& options,
                Report& report) {
  report.section("image", "An encoder of images");
  const Matrix patches = {{0.9F, 0.9F, 0.8F, 0.9F, 0.9F, 0.8F},
                          {0.8F, 1.0F, 1.0F, 0.8F, 0.9F, 1.0F},
                          {0.2F, 0.3F, 0.2F, 0.1F, 0.2F, 0.1F},
                          {0.3F, 0.2F, 0.2F, 0.1F, 0.1F, 0.2F}};
  const Labels names = {"top left", "top right", "bottom left", "bottom right"};
  Generator generator(options.seed);
  const Attention encoder = random_attention(patches.shape(1), generator);
  const Attention cross = random_attention(width, generator);
  const Matrix memory = encoder.forward(patches, patches, all_zero_mask(4, 4)).context;
  report.matrix({"patches", "six pixels each", names, numbered("pixel ", 6), 1}, patches);
  const Trace trace = cross.forward(decoded, memory, all_zero_mask(decoded.shape(0), 4));
  report.matrix({"weights", "softmax of each row", target.tokens, names}, trace.weights);
}

void demonstrate(const Options& options, const Choices& choices, Report& report) {
  const Sequence source = embed(split_words(options.text), width, options.positions);
  const Sequence target =
      embed(decoder_input(split_words(choices.to, "the text of --to")), width, options.positions);
  Generator generator(options.seed);
  const Translator translator(generator);
  const Trace encoded = translator.encode(source.X);
  const Trace decoded = translator.decode(target.X);
  const Trace cross = translator.attend_to(encoded.context, decoded.context);
  show_targets(target.tokens, report);
  show_self_attention("encoder", "The encoder's self-attention", source, encoded, report);
  show_self_attention("decoder", "The decoder's masked self-attention", target, decoded, report);
  show_cross(source, target, cross, report);
  show_unequal(options, report);
  show_one_class(options, report);
  show_three_inputs(translator, source, target, report);
  const Sequence few_sources = first_tokens(source, 16);  // enough to see how far a change reaches
  const Sequence few_targets = first_tokens(target, 16);
  show_reach(translator, few_sources, few_targets, report);
  show_padding(translator, few_sources, few_targets, report);
  show_fully_masked(translator, target, options, report);
  show_image(target, decoded.context, options, report);
  report.panel("encoder", encoded.weights, source.tokens, source.tokens, 1);
  report.panel("decoder", decoded.weights, target.tokens, target.tokens, 1);
  report.panel("cross-attention", cross.weights, target.tokens, source.tokens, 1);
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  Command command("05_cross_attention",
                  "Chapter 05: queries from one sequence, keys and values from another, step by "
                  "step.",
                  "the sky is blue");
  command.add_text("--to", choices.to, "The decoder's words, which attend to those of --text");
  return command.run(argc, argv, [&](const Options& options, Report& report) {
    demonstrate(options, choices, report);
  });
}
