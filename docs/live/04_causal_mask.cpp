/// @file
/// @brief Chapter 04 in a page: what the mask hides, which rows depend on an exchanged word, and
/// what dropout leaves.

#include "chapters/04_causal_mask/main.cpp"
#include "docs/live/page.hpp"

namespace {

/// The words of a text, with the one at a position exchanged; unchanged when `other` is empty.
std::vector<std::string> with_other_word(const char* text, int position, const std::string& other) {
  std::vector<std::string> words = typed_words(text);
  const auto at = static_cast<std::size_t>(position);
  if (other.empty() || at >= words.size()) return words;
  const std::vector<std::string> others = split_words(other, "the other word");
  if (others.size() > 1) {
    throw std::invalid_argument(fmt::format("expected one other word, got {}", others.size()));
  }
  words[at] = others[0];
  return words;
}

}  // namespace

/// One forward pass with the word at `position` exchanged, as at inference and as while training.
/// @param seed  draws the layer's weights
/// @param draw  seed of the dropout mask
extern "C" EMSCRIPTEN_KEEPALIVE const char* masked(const char* text, int position,
                                                   const char* other, int seed, bool mask,
                                                   double dropout, int draw) {
  return answer([&](Report& report) {
    const Sequence input = embed(with_other_word(text, position, other), d_in, true);
    const Labels& tokens = input.tokens;
    Generator generator(static_cast<std::uint64_t>(seed));
    const Attention attention(d_in, d_in, generator);
    const Matrix chosen = mask ? causal_mask(tokens.size()) : all_zero_mask(tokens.size());
    show_trace(input, attention, chosen, report);
    Generator drops(static_cast<std::uint64_t>(draw));
    const Training training{static_cast<Real>(dropout), drops};
    const Trace trace = attention.forward(input.X, chosen, training);
    report.section("training", "The same forward pass while training");
    report.matrix({"weights_after_dropout", "", tokens, tokens}, trace.weights_after_dropout);
    report.matrix({"context", "", tokens, numbered("v", d_in)}, trace.context);
  });
}
