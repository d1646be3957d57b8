/// @file
/// @brief Chapter 05 in a page: two sentences of the reader's, and the cross-attention between
/// them.

#include "chapters/05_cross_attention/main.cpp"
#include "docs/live/page.hpp"

extern "C" EMSCRIPTEN_KEEPALIVE const char* attention(const char* text, const char* to, int seed,
                                                      bool positions) {
  return answer([&](Report& report) {
    const Sequence source = embed(typed_words(text, "the encoder's text"), width, positions);
    const Sequence target =
        embed(decoder_input(typed_words(to, "the decoder's text")), width, positions);
    Generator generator(static_cast<std::uint64_t>(seed));
    const Translator translator(generator);
    const Trace encoded = translator.encode(source.X);
    const Trace decoded = translator.decode(target.X);
    const Trace cross = translator.attend_to(encoded.context, decoded.context);
    show_self_attention("encoder", "", source, encoded, report);
    show_self_attention("decoder", "", target, decoded, report);
    show_cross(source, target, cross, report);
  });
}
