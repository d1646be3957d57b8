#pragma once
/// @file
/// @brief What padding needs from chapter 05 on: a mask of columns, and a softmax that survives a
/// fully masked row. A chapter's tests include this after its own attention.hpp.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference.hpp"
#include "support.hpp"

namespace shared {

constexpr Real minus_infinity = -std::numeric_limits<Real>::infinity();

/// −∞ where `is_hidden(i, j)`, 0 elsewhere.
template <class Rule>
Matrix mask_where(std::size_t T_q, std::size_t T_k, const Rule& is_hidden) {
  Matrix mask = matrix(T_q, T_k);
  for (std::size_t i = 0; i < T_q; ++i) {
    for (std::size_t j = 0; j < T_k; ++j) mask(i, j) = is_hidden(i, j) ? minus_infinity : Real{0};
  }
  return mask;
}

/// A padding mask by its definition.
inline Matrix padding_by_loops(std::size_t T_q, const std::vector<bool>& present) {
  return mask_where(T_q, present.size(), [&](std::size_t, std::size_t j) { return !present[j]; });
}

/// Padding at random indices, never all tokens, and at least one if there is room for it.
inline std::vector<bool> random_presence(std::size_t T_k, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<bool> present(T_k);
  for (std::size_t j = 0; j < T_k; ++j) present[j] = engine() % 2 == 1;
  if (T_k > 0) present[seed % T_k] = true;
  if (T_k > 1) present[(seed + 1) % T_k] = false;
  return present;
}

/// The indices of the tokens that are present, or of those that are padding.
inline std::vector<std::size_t> indices_of(const std::vector<bool>& present, bool which) {
  std::vector<std::size_t> indices;
  for (std::size_t j = 0; j < present.size(); ++j) {
    if (present[j] == which) indices.push_back(j);
  }
  return indices;
}

/// Masks with 1 in place of −∞, so that a matcher can compare them.
inline Matrix with_ones(const Matrix& mask) {
  Matrix ones = mask;
  for (Real& entry : ones) entry = entry == minus_infinity ? Real{1} : entry;
  return ones;
}

inline MatrixMatcher is_the_padding_mask(std::size_t T_q, const std::vector<bool>& present) {
  const std::size_t T_k = present.size();
  const auto masking = [=](const auto& is_hidden) {
    return with_ones(mask_where(T_q, T_k, is_hidden));
  };
  const auto first =
      static_cast<std::size_t>(std::find(present.begin(), present.end(), false) - present.begin());
  MatrixMatcher matcher = equals(with_ones(padding_by_loops(T_q, present)));
  matcher
      .unless("the real tokens are hidden, and the padding isn't",
              masking([&](std::size_t, std::size_t j) { return present[j]; }))
      .unless("nothing is hidden", matrix(T_q, T_k))
      .unless("rows are hidden, not columns: padding may have a query, but no token attends to it",
              masking([&](std::size_t i, std::size_t) { return i < T_k && !present[i]; }))
      .unless("only the first row hides the padding",
              masking([&](std::size_t i, std::size_t j) { return i == 0 && !present[j]; }))
      .unless("every token from the first padding on is hidden",
              masking([&](std::size_t, std::size_t j) { return j >= first; }))
      .unless("only the diagonal hides the padding",
              masking([&](std::size_t i, std::size_t j) { return i == j && !present[j]; }))
      .unless("as many keys are hidden as there is padding, but always the last ones",
              masking([&](std::size_t, std::size_t j) {
                return j >=
                       static_cast<std::size_t>(std::count(present.begin(), present.end(), true));
              }))
      .unless("the rows of padding are hidden as well: only columns belong to keys",
              masking([&](std::size_t i, std::size_t j) {
                return !present[j] || (i < T_k && !present[i]);
              }))
      .unless("rows beyond the number of keys don't hide the padding",
              masking([&](std::size_t i, std::size_t j) { return i < T_k && !present[j]; }))
      .unless("the last key is never hidden",
              masking([&](std::size_t, std::size_t j) { return !present[j] && j + 1 < T_k; }))
      .unless("the first key is never hidden",
              masking([&](std::size_t, std::size_t j) { return !present[j] && j > 0; }))
      .unless("padding is hidden from earlier tokens only",
              masking([&](std::size_t i, std::size_t j) { return j >= i && !present[j]; }))
      .unless("padding is hidden from later tokens only",
              masking([&](std::size_t i, std::size_t j) { return j <= i && !present[j]; }));
  for (const Real substitute : {Real(-20), Real(-30), Real(-100), Real(-1e4), Real(-1e9),
                                std::numeric_limits<Real>::lowest()}) {
    Matrix mask = padding_by_loops(T_q, present);
    for (Real& entry : mask) entry = entry < 0 ? substitute : 0;
    matcher.unless("a finite number stands in for −∞", mask);
  }
  return matcher;
}

/// What the weights of rows that are masked from end to end look like when they aren't zeros.
inline std::string wrong_when_fully_masked(const Matrix& weights) {
  const auto is_nan = [](Real weight) { return std::isnan(weight); };
  const Real uniform = 1 / static_cast<Real>(std::max<std::size_t>(weights.shape(1), 1));
  if (std::all_of(weights.begin(), weights.end(), is_nan)) {
    return "a fully masked row gives nan: either −∞ − (−∞) or 0 / 0 is nan";
  }
  if (same(weights, matrix(weights.shape(0), weights.shape(1), uniform))) {
    return "a fully masked row gives equal weights to tokens that it may not attend to";
  }
  return "a fully masked row must get a weight of exactly 0 everywhere";
}

inline bool all_zero(const Matrix& m) {
  return std::all_of(m.begin(), m.end(), [](Real entry) { return entry == 0; });
}

}  // namespace shared

TEST_CASE("a padding mask hides the columns of padding in every row") {
  struct Lengths {
    std::size_t T_q;
    std::size_t T_k;
  };
  for (const Lengths lengths : {Lengths{3, 5}, Lengths{6, 3}, Lengths{1, 2}, Lengths{4, 4},
                                Lengths{13, 17}, Lengths{33, 97}, Lengths{130, 33},
                                Lengths{2, 1024}, Lengths{1024, 3}, Lengths{0, 4}, Lengths{4, 0}}) {
    const std::vector<bool> present = shared::random_presence(lengths.T_k, lengths.T_k + 5);
    INFO("padding_mask for " << lengths.T_q << " queries and " << lengths.T_k
                             << " keys, with 1 in place of −∞");
    CHECK_THAT(shared::with_ones(padding_mask(lengths.T_q, present)),
               shared::is_the_padding_mask(lengths.T_q, present));
  }
  INFO("padding_mask without any padding, and with nothing else");
  CHECK(identical(padding_mask(3, {true, true}) + Real{0}, matrix(3, 2)));
  CHECK(identical(padding_mask(3, {false, false}), matrix(3, 2, shared::minus_infinity)));
}

TEST_CASE("a score of minus infinity gets a weight of exactly 0") {
  for (const std::size_t columns : {2U, 5U, 12U, 33U, 97U, 130U, 1024U}) {
    Generator generator(columns);
    Matrix scores = normal_matrix(6, columns, generator) * Real(3);
    const std::vector<bool> present = shared::random_presence(columns, columns);
    for (const std::size_t j : shared::indices_of(present, false)) {
      for (std::size_t i = 0; i < 6; ++i) scores(i, j) = shared::minus_infinity;
    }
    const Matrix weights = softmax(scores);
    INFO("softmax of 6 rows of " << columns << " scores, some of them −∞");
    CHECK_THAT(weights, equals(reference::softmax(scores)));
    for (const std::size_t j : shared::indices_of(present, false)) {
      for (std::size_t i = 0; i < 6; ++i) {
        INFO("weights(" << i << ", " << j << ")");
        REQUIRE(weights(i, j) == 0);
      }
    }
  }
}

TEST_CASE("a fully masked row yields zeros") {
  for (const std::size_t columns : {1U, 2U, 3U, 12U, 33U, 130U, 1024U}) {
    const Matrix weights = softmax(matrix(2, columns, shared::minus_infinity));
    INFO("softmax of rows of " << columns
                               << " scores of −∞: " << shared::wrong_when_fully_masked(weights));
    CHECK(shared::all_zero(weights));
  }
}

TEST_CASE("a fully masked row leaves the other rows unchanged") {
  Generator generator(521);
  const Matrix scores = normal_matrix(7, 9, generator) * Real(50);
  const Matrix before = reference::softmax(scores);
  for (std::size_t masked = 0; masked < 7; ++masked) {
    Matrix with_masked_row = scores;
    Matrix right = before;
    for (std::size_t j = 0; j < 9; ++j) {
      with_masked_row(masked, j) = shared::minus_infinity;
      right(masked, j) = 0;
    }
    INFO("row " << masked << " is fully masked: it must be zeros, and no other row may change");
    CHECK_THAT(softmax(with_masked_row), equals(right));
  }
}

TEST_CASE("a mask that hides everything yields zeros everywhere") {
  Generator generator(520);
  for (const std::size_t T_k : {1U, 2U, 6U, 40U}) {
    const Trace trace =
        attend(normal_matrix(3, 4, generator), normal_matrix(T_k, 4, generator),
               normal_matrix(T_k, 2, generator), matrix(3, T_k, shared::minus_infinity));
    INFO("three queries, " << T_k << " keys: " << shared::wrong_when_fully_masked(trace.weights));
    CHECK(shared::all_zero(trace.weights));
    CHECK(shared::all_zero(trace.weights_after_dropout));
    CHECK(shared::all_zero(trace.context));
  }
}
