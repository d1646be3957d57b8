#pragma once
/// @file
/// @brief From a text to the numbers that a model reads, character by character, and back.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The symbols that a model tells apart: one for each character (Unicode code point) of the text it
/// was trained on. A symbol's number is its place. The mark U+FEFF, which some editors put before a
/// text, is none of its characters.
///
/// In a model's folder they are characters.json, an array of strings with one character each.
class Vocabulary {
 public:
  /// The characters of a text, each once, in Unicode's order.
  /// @param name  what the messages call the text
  /// @throws std::invalid_argument when the text is not UTF-8 (with the offset) or has fewer than
  /// two different characters: there would be nothing to choose from
  explicit Vocabulary(std::string_view text, const std::string& name = "the text");

  /// The characters in the order of a characters.json.
  /// @throws std::invalid_argument when it is no JSON array of different characters
  static Vocabulary from_json(std::string_view json, const std::string& name);

  /// The content of a characters.json, from which `from_json` makes the same symbols.
  std::string to_json() const;

  /// @throws std::runtime_error when the file cannot be read, std::invalid_argument as `from_json`
  static Vocabulary load(const std::filesystem::path& path);

  /// @throws std::runtime_error when the file cannot be written
  void save(const std::filesystem::path& path) const;

  /// How many symbols there are.
  std::size_t size() const { return characters_.size(); }

  /// Whether a character, given as its Unicode code point, is one of the symbols.
  bool knows(std::int32_t code) const { return numbers_.contains(code); }

  /// The numbers of a text's characters.
  /// @throws std::invalid_argument when the text is not UTF-8, or has a character that is none of
  /// the symbols, with its offset
  std::vector<int> encode(std::string_view text, const std::string& name = "the prompt") const;

  /// The text of some symbols.
  /// @throws std::invalid_argument when a number is none of a symbol
  std::string decode(const std::vector<int>& symbols) const;

 private:
  Vocabulary() = default;
  void add(std::int32_t code, std::string character);
  void require_choice(const std::string& name) const;

  std::vector<std::string> characters_;            // by number
  std::unordered_map<std::int32_t, int> numbers_;  // by code point
};

/// A text to learn from.
/// @throws std::runtime_error when there is no such file, or it cannot be read;
/// std::invalid_argument when it is empty, is not UTF-8 (with the offset), or has control
/// characters, as binary files do
std::string read_text(const std::filesystem::path& path);
