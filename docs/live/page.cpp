#include "docs/live/page.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "common/color.hpp"
#include "common/text.hpp"

const char* answer(const std::function<void(Report&)>& demo) {
  static std::string text;
  try {
    Report report(Form::json);
    demo(report);
    text = report.content();
  } catch (const std::bad_alloc&) {
    text = R"({"error": "there is not enough memory for a text of this length"})";
  } catch (const std::exception& error) {
    text = nlohmann::json({{"error", error.what()}}).dump();
  }
  return text.c_str();
}

std::vector<std::string> typed_words(const char* text, const std::string& name) {
  std::vector<std::string> words = split_words(text, name);
  if (words.size() > most_words) {
    throw std::invalid_argument(fmt::format("{} has {} words; this figure takes at most {}", name,
                                            words.size(), most_words));
  }
  return words;
}

extern "C" {

/// The colour of a value in a heat map, as the number that #rrggbb is in CSS.
EMSCRIPTEN_KEEPALIVE int color_of(double value, double full_color) {
  const Color c = ColorScale{full_color}.of(value);
  return c.red << 16 | c.green << 8 | c.blue;
}

/// Whether black writing can be read better on this colour than white writing.
EMSCRIPTEN_KEEPALIVE bool black_on(int color) {
  return wants_black_text({color >> 16, color >> 8 & 255, color & 255});
}
}
