/// @file
/// @brief Chapter 03 in a page: the worked example, its third query rotated and its width raised.

#include "chapters/03_scaling/main.cpp"
#include "docs/live/page.hpp"

extern "C" EMSCRIPTEN_KEEPALIVE const char* scaling(double degrees, int d_k, bool scale) {
  return answer([&](Report& report) {
    const Choices choices{scale, static_cast<std::size_t>(d_k), degrees};
    show_worked_example(choices, report);
    show_widened(choices, report);
  });
}
