/// @file
/// @brief Chapter 01 in a page: the scores of a reader's own sentence.

#include "chapters/01_parameter_free/main.cpp"
#include "docs/live/page.hpp"

extern "C" EMSCRIPTEN_KEEPALIVE const char* attention(const char* text, bool positions) {
  return answer([&](Report& report) {
    const std::vector<std::string> words = typed_words(text);
    const Sequence input = embed(words, d_in, positions);
    show_input(input, report);
    const Trace trace = show_trace(input, report);
    show_symmetry(input, trace, report);
    show_lengths(input, trace, report);
    if (!repeated_rows(words).empty()) show_repeated_word(words, positions, report);
  });
}
