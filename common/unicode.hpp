#pragma once
/// @file
/// @brief The book's questions to Unicode. In the programs utf8proc answers them; in the HTML book
/// the browser, which has the same tables (docs/live/unicode.cpp).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// One character of a text: its code, and where it starts.
struct Character {
  std::size_t offset;
  std::size_t length;  ///< in bytes
  std::int32_t code;
};

/// The character that starts at a byte of the text.
/// @param name  what the message calls the text
/// @throws std::invalid_argument with the byte and its offset, where the text is not UTF-8
Character character_at(std::string_view text, std::size_t offset, const std::string& name);

/// Whether a character is white space of any kind, line breaks and tabs included.
bool is_space(std::int32_t code);

/// Whether a character is a control character, which drives a terminal and shows nothing.
bool is_control(std::int32_t code);

/// The word in Unicode's composed form (NFC), in which words that look the same are the same.
std::string composed(const std::string& word);

/// A grapheme: a part of a text that a terminal shows as one sign: a letter with its accents, or an
/// emoji made of several characters.
struct Sign {
  std::string_view text;
  std::size_t columns;  ///< how many it takes on the terminal
};

/// A text as signs.
/// @throws std::invalid_argument where the text is not UTF-8
std::vector<Sign> signs_of(std::string_view text);
