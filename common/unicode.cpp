#include "common/unicode.hpp"

#include <fmt/core.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>

Character character_at(std::string_view text, std::size_t offset, const std::string& name) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + offset;
  std::int32_t code = 0;
  const auto left = static_cast<utf8proc_ssize_t>(text.size() - offset);
  const utf8proc_ssize_t length = utf8proc_iterate(bytes, left, &code);
  if (length < 1) {
    throw std::invalid_argument(fmt::format("{} is not UTF-8: byte {} is 0x{:02X}", name, offset,
                                            static_cast<unsigned char>(text[offset])));
  }
  return {offset, static_cast<std::size_t>(length), code};
}

bool is_space(std::int32_t code) {
  const utf8proc_category_t category = utf8proc_category(code);
  return (code >= 0x09 && code <= 0x0D) || code == 0x85 || category == UTF8PROC_CATEGORY_ZS ||
         category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

bool is_control(std::int32_t code) {
  return utf8proc_category(code) == UTF8PROC_CATEGORY_CC;
}

std::string composed(const std::string& word) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(word.c_str());
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> result(utf8proc_NFC(bytes),
                                                                       &std::free);
  if (!result) throw std::bad_alloc();
  return reinterpret_cast<const char*>(result.get());
}

std::vector<Sign> signs_of(std::string_view text) {
  std::vector<Sign> signs;
  utf8proc_int32_t state = 0;
  utf8proc_int32_t before = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at, "the text");
    if (at == 0 || utf8proc_grapheme_break_stateful(before, c.code, &state)) {
      signs.push_back({text.substr(at, 0), 0});
    }
    Sign& sign = signs.back();
    sign.text = {sign.text.data(), sign.text.size() + c.length};
    sign.columns =
        std::max(sign.columns, static_cast<std::size_t>(std::max(0, utf8proc_charwidth(c.code))));
    const bool flag_letter = c.code >= 0x1F1E6 && c.code <= 0x1F1FF;  // two of them make a flag
    const bool emoji_selector = c.code == 0xFE0F;  // turns the sign before it into an emoji
    if (flag_letter || emoji_selector) sign.columns = 2;
    before = c.code;
    at += c.length;
  }
  return signs;
}
