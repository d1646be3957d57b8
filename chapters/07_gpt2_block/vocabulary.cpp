#include "vocabulary.hpp"

#include <fmt/core.h>

#include <map>
#include <stdexcept>

#include "common/atomic_file.hpp"
#include "common/text.hpp"
#include "json_text.hpp"

namespace {

constexpr std::size_t most_text = 1'000'000'000;     // bytes; the numbers take four times as many
constexpr std::size_t most_characters = 20'000'000;  // bytes: all of Unicode, each as "\u0041",

/// Calls `visit(character, bytes)` for each character of a text, but for a U+FEFF before it.
template <class Visit>
void for_each_character(std::string_view text, const std::string& name, Visit visit) {
  for (std::size_t at = byte_order_mark_length(text); at < text.size();) {
    const Character c = character_at(text, at, name);
    visit(c, text.substr(at, c.length));
    at += c.length;
  }
}

/// “é”, or U+000A for what cannot be seen.
std::string shown(const Character& c, std::string_view bytes) {
  if (!is_printable(c.code)) return fmt::format("U+{:04X}", static_cast<unsigned>(c.code));
  return fmt::format("“{}”", bytes);
}

}  // namespace

Vocabulary::Vocabulary(std::string_view text, const std::string& name) {
  std::map<std::int32_t, std::string> found;
  for_each_character(text, name, [&](const Character& c, std::string_view bytes) {
    found.try_emplace(c.code, bytes);
  });
  for (const auto& [code, bytes] : found) add(code, bytes);
  require_choice(name);
}

Vocabulary Vocabulary::from_json(std::string_view json, const std::string& name) {
  const nlohmann::json list = parse_json(json, name);
  if (!list.is_array()) throw std::invalid_argument(name + " is not a JSON array");
  Vocabulary vocabulary;
  for (const nlohmann::json& entry : list) {
    const std::string place = fmt::format("entry {} of {}", vocabulary.size(), name);
    const auto* bytes = entry.get_ptr<const std::string*>();
    if (bytes == nullptr || bytes->empty()) {
      throw std::invalid_argument(place + " is no text of one character");
    }
    const Character c = character_at(*bytes, 0, place);
    require_text(c, place);
    if (c.length != bytes->size()) throw std::invalid_argument(place + " has several characters");
    if (vocabulary.numbers_.contains(c.code)) {
      throw std::invalid_argument(fmt::format("{} is {} again", place, shown(c, *bytes)));
    }
    vocabulary.add(c.code, *bytes);
  }
  vocabulary.require_choice(name);
  return vocabulary;
}

std::string Vocabulary::to_json() const {
  return nlohmann::json(characters_).dump() + "\n";
}

Vocabulary Vocabulary::load(const std::filesystem::path& path) {
  return from_json(read_regular_file(path, most_characters), path.string());
}

void Vocabulary::save(const std::filesystem::path& path) const {
  AtomicFile(path, to_json()).commit();
}

std::vector<int> Vocabulary::encode(std::string_view text, const std::string& name) const {
  std::vector<int> symbols;
  symbols.reserve(text.size());  // as many if they are all ASCII: nothing is copied on the way
  for_each_character(text, name, [&](const Character& c, std::string_view bytes) {
    const auto found = numbers_.find(c.code);
    if (found == numbers_.end()) {
      throw std::invalid_argument(
          fmt::format("{} has the symbol {} at byte {}, which the model has never seen", name,
                      shown(c, bytes), c.offset));
    }
    symbols.push_back(found->second);
  });
  return symbols;
}

std::string Vocabulary::decode(const std::vector<int>& symbols) const {
  std::string text;
  for (const int symbol : symbols) {
    if (symbol < 0 || static_cast<std::size_t>(symbol) >= size()) {
      throw std::invalid_argument(
          fmt::format("there is no symbol {}: they are 0 to {}", symbol, size() - 1));
    }
    text += characters_[static_cast<std::size_t>(symbol)];
  }
  return text;
}

void Vocabulary::add(std::int32_t code, std::string character) {
  numbers_.emplace(code, static_cast<int>(size()));
  characters_.push_back(std::move(character));
}

void Vocabulary::require_choice(const std::string& name) const {
  if (size() >= 2) return;
  throw std::invalid_argument(
      fmt::format("{} has {} different characters: at least 2 are needed, or there is nothing to "
                  "choose from",
                  name, size()));
}

std::string read_text(const std::filesystem::path& path) {
  std::string text = read_file(path, most_text);
  const std::string name = path.string();
  if (text.size() == byte_order_mark_length(text)) {
    throw std::invalid_argument(name + " is empty: there is not one symbol in it");
  }
  for_each_character(text, name,
                     [&](const Character& c, std::string_view) { require_text(c, name); });
  return text;
}
