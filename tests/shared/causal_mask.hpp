#pragma once
/// @file
/// @brief What every chapter's `causal_mask` must be. A chapter's tests include this after its own
/// attention.hpp.

#include <fmt/core.h>

#include <functional>
#include <limits>

#include "support.hpp"

namespace shared {

constexpr Real hidden = -std::numeric_limits<Real>::infinity();

/// The lengths at which a mask is looked at; the last is GPT-2's context length.
inline const std::vector<std::size_t> mask_lengths = {1, 2, 3, 7, 13, 17, 33, 65, 130, 257, 1024};

/// What a mask may be at each length: the right one, or a wrong one with its name.
struct MaskGuess {
  std::string name;
  std::function<Real(std::size_t T, std::size_t i, std::size_t j)> entry;
};

inline const MaskGuess causal_definition = {
    "", [](std::size_t, std::size_t i, std::size_t j) { return j > i ? hidden : Real{0}; }};

/// Whether a guess explains every entry of a mask, also those that are not a number in both.
inline bool explains(const MaskGuess& guess, const Matrix& mask, std::size_t T) {
  if (mask.shape(0) != T || mask.shape(1) != T) return false;
  for (std::size_t i = 0; i < T; ++i) {
    for (std::size_t j = 0; j < T; ++j) {
      const Real want = guess.entry(T, i, j);
      const Real got = mask(i, j);
      if (got != want && !(std::isnan(got) && std::isnan(want))) return false;
    }
  }
  return true;
}

/// The number of leading tokens among which the mask is right.
inline std::size_t covered_tokens(const Matrix& mask) {
  std::size_t n = 0;
  for (; n < mask.shape(0); ++n) {
    for (std::size_t k = 0; k <= n; ++k) {
      if (mask(n, k) != 0 || mask(k, n) != (n > k ? hidden : Real{0})) return n;
    }
  }
  return n;
}

/// The number of leading rows that hide the next token.
inline std::size_t covered_rows(const Matrix& mask) {
  std::size_t n = 0;
  while (n + 1 < mask.shape(0) && mask(n, n + 1) == hidden) ++n;
  return n;
}

/// The usual wrong masks. The numbers are read off the masks that were got.
inline std::vector<MaskGuess> mask_guesses(Real replacement, std::size_t rows, std::size_t tokens) {
  using Size = std::size_t;
  const auto hidden_where = [](auto is_hidden) {
    return [is_hidden](Size T, Size i, Size j) { return is_hidden(T, i, j) ? hidden : Real{0}; };
  };
  return {
      {"there is no mask: no entry is −∞", [](Size, Size, Size) { return Real{0}; }},
      {"the diagonal is masked as well: no token attends to itself",
       hidden_where([](Size, Size i, Size j) { return j >= i; })},
      {"the mask is off by one: each token attends to the next one as well",
       hidden_where([](Size, Size i, Size j) { return j > i + 1; })},
      {"the lower triangle is masked, not the upper",
       hidden_where([](Size, Size i, Size j) { return j < i; })},
      {"the mask is inverted: it hides what it should leave",
       hidden_where([](Size, Size i, Size j) { return j <= i; })},
      {"only the next token is hidden, and later ones are not",
       hidden_where([](Size, Size i, Size j) { return j == i + 1; })},
      {"only the last token is hidden",
       hidden_where([](Size T, Size i, Size j) { return j > i && j + 1 == T; })},
      {"the first row hides nothing",
       hidden_where([](Size, Size i, Size j) { return i > 0 && j > i; })},
      {"0 times −∞ isn't a number",
       [](Size, Size i, Size j) {
         return j > i ? hidden : std::numeric_limits<Real>::quiet_NaN();
       }},
      {fmt::format("{} stands in for −∞", replacement),
       [replacement](Size, Size i, Size j) { return j > i ? replacement : Real{0}; }},
      {fmt::format("the mask is right for the first {} rows only", rows),
       hidden_where([rows](Size, Size i, Size j) { return i < rows && j > i; })},
      {fmt::format("the mask is right for the first {} tokens only", tokens),
       hidden_where([tokens](Size, Size i, Size j) { return j > i && j < tokens; })},
  };
}

/// A sentence about what a wrong `causal_mask` does, when one guess explains its masks of all
/// lengths.
inline std::string mask_bug(const std::function<Matrix(std::size_t)>& mask_of) {
  std::vector<Matrix> masks;
  for (const std::size_t T : mask_lengths) masks.push_back(mask_of(T));
  const Matrix& longest = masks.back();
  if (longest.shape(0) != longest.shape(1) || masks[1].size() != 4) return "";
  for (const MaskGuess& guess :
       mask_guesses(masks[1](0, 1), covered_rows(longest), covered_tokens(longest))) {
    bool holds = true;
    for (std::size_t n = 0; n < masks.size() && holds; ++n) {
      holds = explains(guess, masks[n], mask_lengths[n]);
    }
    if (holds) return "\n  This looks like: " + guess.name + ".";
  }
  return "";
}

}  // namespace shared

TEST_CASE("the causal mask is 0 up to the diagonal and minus infinity after it at any length",
          "[B8]") {
  for (const std::size_t T : shared::mask_lengths) {
    const Matrix mask = causal_mask(T);
    const bool is_causal = shared::explains(shared::causal_definition, mask, T);
    INFO("causal_mask(" << T << ") is " << shape_text(mask)
                        << (is_causal ? "" : shared::mask_bug(causal_mask)));
    CHECK(is_causal);
    if (!is_causal) return;  // the first length says it all
  }
}
