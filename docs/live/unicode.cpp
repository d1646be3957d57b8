/// @file
/// @brief common/unicode.hpp in a page: the browser knows Unicode, so the tables need not be
/// loaded.

#include "common/unicode.hpp"

#include <emscripten.h>

#include <cstdlib>
#include <memory>

// clang-format off
EM_JS(bool, matches, (const char* pattern, std::int32_t code), {
  return new RegExp(UTF8ToString(pattern), "u").test(String.fromCodePoint(code));
})

EM_JS(char*, normalized, (const char* word), {
  const text = UTF8ToString(word).normalize("NFC");
  const bytes = lengthBytesUTF8(text) + 1;
  const copy = _malloc(bytes);
  stringToUTF8(text, copy, bytes);
  return copy;
})
// clang-format on

/// JavaScript always passes valid UTF-8.
Character character_at(std::string_view text, std::size_t offset, const std::string&) {
  const auto first = static_cast<unsigned char>(text[offset]);
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::int32_t code = length == 1 ? first : first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (text[offset + i] & 0x3F);
  return {offset, length, code};
}

bool is_space(std::int32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x85 || matches("\\p{Z}", code);
}

bool is_control(std::int32_t code) {
  return matches("\\p{Cc}", code);
}

std::string composed(const std::string& word) {
  const std::unique_ptr<char, decltype(&std::free)> copy(normalized(word.c_str()), &std::free);
  return copy.get();
}

/// There is no terminal whose columns would have to be counted: each character is a sign.
std::vector<Sign> signs_of(std::string_view text) {
  std::vector<Sign> signs;
  for (std::size_t at = 0; at < text.size(); at += signs.back().text.size()) {
    signs.push_back({text.substr(at, character_at(text, at, "").length), 1});
  }
  return signs;
}
