/// @file
/// @brief Chapter 06 in a page: a map for each head, and what W_out makes of their columns.

#include "chapters/06_multi_head/main.cpp"
#include "docs/live/page.hpp"

extern "C" EMSCRIPTEN_KEEPALIVE const char* heads(const char* text, int n_heads, int seed,
                                                  bool positions) {
  return answer([&](Report& report) {
    Choices choices;
    choices.heads = static_cast<std::size_t>(n_heads);
    const Sequence input = embed(typed_words(text), d_in, positions);
    Generator generator(static_cast<std::uint64_t>(seed));
    std::vector<HeadWeights> heads;
    for (std::size_t h = 0; h < choices.heads; ++h) {
      heads.emplace_back(choices.d_out() / choices.heads, generator);
    }
    const Attention wide = joined(heads, choices.d_out(), generator);
    show_loop(input, heads, report);
    show_wide(input, heads, wide, report);
    show_independence(input, wide, report);
    report.section("mixing", "The matrix that mixes the heads");
    report.matrix({"W_out", "", numbered("z", choices.d_out()), numbered("o", choices.d_out())},
                  wide.W_out);
  });
}
