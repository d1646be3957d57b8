/// @file
/// @brief Chapter 02 in a page: the scores with one weight matrix, and with two.

#include "chapters/02_trainable_weights/main.cpp"
#include "docs/live/page.hpp"

extern "C" EMSCRIPTEN_KEEPALIVE const char* symmetry(const char* text, int seed, bool positions) {
  return answer([&](Report& report) {
    const Sizes sizes;
    const Sequence input = embed(typed_words(text), sizes.d_in, positions);
    Generator generator(static_cast<std::uint64_t>(seed));
    const Attention attention(sizes.d_in, sizes.d_out, generator);
    show_one_weight(input, attention, report);
    show_asymmetry(input, attention, show_trace(input, attention, report), report);
  });
}
