/// @file
/// @brief Chapter 04 in a page: what the mask hides, who hears of another word, what dropout
/// leaves.

#include "chapters/04_causal_mask/main.cpp"
#include "docs/live/page.hpp"

namespace {

/// The words of a text, with another one at a place; as they are when there is no other.
std::vector<std::string> with_other_word(const char* text, int place, const std::string& other) {
  std::vector<std::string> words = typed_words(text);
  const auto at = static_cast<std::size_t>(place);
  if (other.empty() || at >= words.size()) return words;
  const std::vector<std::string> others = split_words(other, "the other word");
  if (others.size() > 1) {
    throw std::invalid_argument(
        fmt::format("the other word is {} words; one is wanted", others.size()));
  }
  words[at] = others[0];
  return words;
}

}  // namespace

/// One pass, with the word at `place` exchanged; and the weights that dropout leaves of it.
/// @param seed  draws the layer's weights
/// @param draw  seed of what dropout drops
extern "C" EMSCRIPTEN_KEEPALIVE const char* masked(const char* text, int place, const char* other,
                                                   int seed, bool mask, double dropout, int draw) {
  return answer([&](Report& report) {
    const Sequence input = embed(with_other_word(text, place, other), d_in, true);
    const Labels& tokens = input.tokens;
    Generator generator(static_cast<std::uint64_t>(seed));
    const Attention attention(d_in, d_in, generator);
    const Matrix chosen = mask ? causal_mask(tokens.size()) : all_zero_mask(tokens.size());
    show_trace(input, attention, chosen, report);
    Generator drops(static_cast<std::uint64_t>(draw));
    const Training training{static_cast<Real>(dropout), drops};
    report.section("training", "The same pass while training");
    report.matrix({"weights_after_dropout", "", tokens, tokens},
                  attention.forward(input.X, chosen, training).weights_after_dropout);
  });
}
