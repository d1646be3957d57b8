#pragma once
/// @file
/// @brief What every chapter's `causal_mask` must be. A chapter's tests include this after its own
/// attention.hpp.

#include <fmt/core.h>

#include <limits>

#include "support.hpp"

namespace shared {

/// A causal mask by its definition, with room for what goes wrong: the first hidden column of row
/// i is i + `first`, rows from `covered` on hide nothing, and `replacement` takes the place of −∞.
inline Matrix mask_by_loops(std::size_t T, std::size_t first, std::size_t covered,
                            Real replacement) {
  Matrix mask = matrix(T, T);
  for (std::size_t i = 0; i < std::min(T, covered); ++i) {
    for (std::size_t j = i + first; j < T; ++j) mask(i, j) = replacement;
  }
  return mask;
}

/// The number of leading tokens among which the mask is right.
inline std::size_t covered_tokens(const Matrix& mask) {
  const Matrix right =
      mask_by_loops(mask.shape(0), 1, mask.shape(0), -std::numeric_limits<Real>::infinity());
  std::size_t n = 0;
  while (n < mask.shape(0)) {
    for (std::size_t k = 0; k <= n; ++k) {
      if (mask(n, k) != right(n, k) || mask(k, n) != right(k, n)) return n;
    }
    ++n;
  }
  return n;
}

/// What a wrong causal mask looks like, when one guess explains all of its entries.
inline std::string looks_like(const Matrix& mask, std::size_t T) {
  const Real infinity = std::numeric_limits<Real>::infinity();
  if (mask.shape(0) != T || mask.shape(1) != T) return "";
  const auto is = [&](const Matrix& other) { return identical(mask + Real{0}, other); };
  const Matrix lower = mask_by_loops(T, 1, T, -infinity);
  if (is(matrix(T, T))) return "there is no mask: no entry is −∞";
  if (is(mask_by_loops(T, 0, T, -infinity))) return "the diagonal is masked as well";
  if (is(mask_by_loops(T, 2, T, -infinity))) {
    return "the mask is off by one: each token attends to the next one as well";
  }
  if (is(xt::transpose(lower))) return "the lower triangle is masked, not the upper";
  const Real corner = mask(0, T - 1);
  if (std::isfinite(corner) && is(mask_by_loops(T, 1, T, corner))) {
    return fmt::format("{} stands in for −∞", corner);
  }
  const std::size_t covered = covered_tokens(mask);
  if (covered > 1) return fmt::format("the mask is right for the first {} tokens only", covered);
  return "";
}

}  // namespace shared

TEST_CASE("the causal mask is 0 up to the diagonal and minus infinity after it at any length") {
  for (const std::size_t T : {1U, 2U, 3U, 7U, 13U, 17U, 33U, 65U, 130U, 257U, 1024U}) {
    const Matrix mask = causal_mask(T);
    const std::string guess = shared::looks_like(mask, T);
    INFO("causal_mask(" << T << ") is " << shape_text(mask)
                        << (guess.empty() ? "" : "\n  This looks like: " + guess + "."));
    CHECK(identical(mask + Real{0},
                    shared::mask_by_loops(T, 1, T, -std::numeric_limits<Real>::infinity())));
  }
}
