#include "common/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <stdexcept>

#include "common/random.hpp"

namespace {

void require_length(std::size_t T, const std::string& name) {
  if (T == 0)
    throw std::invalid_argument(name + " has no word in it; attention needs at least one");
  if (T > max_tokens) {
    const double gigabytes = static_cast<double>(T) * static_cast<double>(T) * sizeof(Real) / 1e9;
    throw std::invalid_argument(fmt::format(
        "{4} has {0} words, which need a score matrix of {0} x {0} = {1} scores ({2:.1f} GB); at "
        "most {3} words fit here",
        grouped(T), grouped(T * T), gigabytes, grouped(max_tokens), name));
  }
}

/// FNV-1a: the seed of a word's token embedding.
std::uint64_t seed_of(const std::string& word) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash ^ (hash >> 32);
}

/// The encodings of the running example, "draw a map", which `embed` must return.
struct Encoding {
  std::size_t position;
  double x;
  double y;
};
const std::map<std::string, Encoding>& running_example() {
  static const std::map<std::string, Encoding> encodings = {
      {"draw", {0, 1.16, 0.23}}, {"a", {1, 0.57, 1.36}}, {"map", {2, 4.41, -2.16}}};
  return encodings;
}

double position_entry(std::size_t position, std::size_t column, std::size_t d_in) {
  const double exponent = static_cast<double>(column / 2 * 2) / static_cast<double>(d_in);
  const double angle = static_cast<double>(position) / std::pow(10000.0, exponent);
  return column % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

std::vector<double> word_entries(const std::string& word, std::size_t d_in) {
  const auto known = running_example().find(word);
  if (d_in == 2 && known != running_example().end()) {
    const Encoding& encoding = known->second;
    return {encoding.x - position_entry(encoding.position, 0, d_in),
            encoding.y - position_entry(encoding.position, 1, d_in)};
  }
  Generator generator(seed_of(word));
  std::vector<double> entries(d_in);
  for (double& entry : entries) entry = static_cast<double>(generator.normal());
  return entries;
}

}  // namespace

bool is_printable(std::int32_t code) {
  const bool noncharacter = (code & 0xFFFE) == 0xFFFE;
  return !is_control(code) && !noncharacter;
}

void require_text(const Character& c, const std::string& name) {
  if (!is_space(c.code) && !is_printable(c.code)) {
    throw std::invalid_argument(fmt::format("{} has the control character U+{:04X} at byte {}",
                                            name, static_cast<unsigned>(c.code), c.offset));
  }
}

std::size_t byte_order_mark_length(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? mark.size() : 0;
}

std::vector<std::string> split_words(std::string_view text, const std::string& name) {
  std::vector<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(composed(word));
    word.clear();
  };
  for (std::size_t at = byte_order_mark_length(text); at < text.size();) {
    const Character c = character_at(text, at, name);
    require_text(c, name);
    if (is_space(c.code)) {
      finish();
    } else {
      word += text.substr(at, c.length);
    }
    at += c.length;
  }
  finish();
  require_length(words.size(), name);
  return words;
}

Sequence embed(const std::vector<std::string>& words, std::size_t d_in, bool positions) {
  const Matrix::shape_type shape{words.size(), d_in};
  Sequence sequence{words, Matrix(shape), Matrix(shape), Matrix(shape)};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::vector<double> word = word_entries(words[i], d_in);
    for (std::size_t j = 0; j < d_in; ++j) {
      const double place = positions ? position_entry(i, j, d_in) : 0.0;
      sequence.token_embeddings(i, j) = static_cast<Real>(word[j]);
      sequence.position_embeddings(i, j) = static_cast<Real>(place);
      sequence.X(i, j) = static_cast<Real>(word[j] + place);
    }
  }
  return sequence;
}

Sequence first_tokens(const Sequence& sequence, std::size_t count) {
  const std::size_t T = std::min(count, sequence.tokens.size());
  const auto first_rows = [T](const Matrix& m) -> Matrix {
    return xt::view(m, xt::range(std::size_t{0}, T), xt::all());
  };
  const auto end = sequence.tokens.begin() + static_cast<std::ptrdiff_t>(T);
  return {{sequence.tokens.begin(), end},
          first_rows(sequence.token_embeddings),
          first_rows(sequence.position_embeddings),
          first_rows(sequence.X)};
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const Sign& sign : signs_of(text)) width += sign.columns;
  return width;
}

std::string clip(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::string kept;
  std::size_t used = 0;
  for (const Sign& sign : signs_of(text)) {
    if (used + sign.columns + 1 > width) break;
    kept += sign.text;
    used += sign.columns;
  }
  return kept + "…";
}

std::string quoted(const std::string& word) {
  constexpr std::size_t longest = 20;
  return "\"" + clip(word, longest) + "\"";
}

std::string for_shell(const std::string& name) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./+,:@%=").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!name.empty() && std::all_of(name.begin(), name.end(), is_plain)) return name;
  std::string word = "'";
  for (const char c : name) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string grouped(std::size_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}
