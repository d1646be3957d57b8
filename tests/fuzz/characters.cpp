/// @file
/// @brief Tries texts of characters.json, and the same texts as something to learn from.

#include "reader.hpp"
#include "vocabulary.hpp"

namespace {

void try_list(const std::string& json) {
  const Vocabulary vocabulary = Vocabulary::from_json(json, input_name);
  std::vector<int> all(vocabulary.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  const Vocabulary again = Vocabulary::from_json(vocabulary.to_json(), input_name);
  if (again.encode(vocabulary.decode(all), input_name) != all) fail("the symbols have moved");
}

void try_text(const std::string& text) {
  const Vocabulary vocabulary(text, input_name);
  if (vocabulary.decode(vocabulary.encode(text, input_name)) != text) fail("the text has changed");
}

}  // namespace

void try_input(const std::string& input) {
  read_or_refuse([&input] { try_list(input); });
  read_or_refuse([&input] { try_text(input); });
}
