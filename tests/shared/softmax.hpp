#pragma once
/// @file
/// @brief What every chapter's `softmax` must do. A chapter's tests include this after its own
/// attention.hpp: the function is copied from chapter to chapter, and so is what could break in it.

#include <fmt/core.h>

#include <limits>

#include "reference.hpp"
#include "support.hpp"

namespace shared {

/// Random scores of mean `center`, a few units apart.
inline Matrix scores_around(Real center, std::size_t rows, std::size_t columns,
                            std::uint64_t seed) {
  Generator generator(seed);
  return normal_matrix(rows, columns, generator) * Real(3) + center;
}

/// Softmax that subtracts something other than the row's maximum, as a float computes it.
template <class Subtracted>
Matrix softmax_less(const Matrix& scores, const Subtracted& subtracted) {
  Matrix weights = scores;
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const ConstRow row_i = row(scores, i);
    const Real shift = subtracted(row_i);
    Real sum = 0;
    for (std::size_t j = 0; j < row_i.size(); ++j)
      sum += weights(i, j) = std::exp(row_i[j] - shift);
    for (std::size_t j = 0; j < row_i.size(); ++j) weights(i, j) /= sum;
  }
  return weights;
}

/// `max_of` that begins with `start` and not with −∞.
inline auto running_max_from(Real start) {
  return [start](ConstRow row) { return std::max(max_of(row), start); };
}

/// A function of the scores before softmax.
template <class Function>
Matrix softmax_of_changed(const Matrix& scores, const Function& change) {
  Matrix changed = scores;
  for (Real& score : changed) score = change(score);
  return reference::softmax(changed);
}

/// The index of the largest score of a row.
inline std::size_t place_of_max(const Matrix& scores, std::size_t i) {
  const ConstRow row_i = row(scores, i);
  return static_cast<std::size_t>(std::max_element(row_i.begin(), row_i.end()) - row_i.begin());
}

/// What becomes of the differences between the scores of a row: none when the logarithms of the
/// weights differ by as much, as they should.
inline std::string exponents_that_differ(const Matrix& weights, const Matrix& scores) {
  double factor = 0;  // all differences are multiplied by it
  double least = 0;   // or no difference is below it
  double lowest = 0;  // the lowest difference
  bool multiplied = true;
  bool bounded = true;
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const std::size_t top = place_of_max(scores, i);
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      const double score = static_cast<double>(scores(i, j)) - static_cast<double>(scores(i, top));
      const double exponent = std::log(static_cast<double>(weights(i, j) / weights(i, top)));
      if (!std::isfinite(exponent) || score < -15) return "";
      if (score == 0) continue;
      const double slack = 1e-3 * (1 + std::abs(score));
      if (factor == 0) factor = exponent / score;
      multiplied = multiplied && std::abs(exponent - factor * score) < slack;
      least = std::min(least, exponent);
      lowest = std::min(lowest, score);
    }
  }
  for (std::size_t i = 0; i < scores.shape(0) && bounded; ++i) {
    const std::size_t top = place_of_max(scores, i);
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      const double score = static_cast<double>(scores(i, j)) - static_cast<double>(scores(i, top));
      const double exponent = std::log(static_cast<double>(weights(i, j) / weights(i, top)));
      bounded = bounded && std::abs(exponent - std::max(score, least)) < 1e-3 * (1 - score);
    }
  }
  if (multiplied && std::abs(factor - 1) > 0.01) {
    return fmt::format("softmax: the scores are multiplied by {:.3f} before the exponential",
                       factor);
  }
  if (bounded && lowest < least - 0.1) {
    return fmt::format("softmax: no exponent is below {:.3f}, so small weights are too large",
                       least);
  }
  return "";
}

/// What can be read off wrong weights: nan, rows that don't sum to 1, distorted exponents.
inline std::string wrong_probabilities(const Matrix& weights, const Matrix& scores) {
  for (std::size_t i = 0; i < weights.shape(0); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < weights.shape(1); ++j) {
      if (std::isnan(weights(i, j))) {
        return fmt::format(
            "softmax: row {} isn't brought down by its own maximum, so its exponentials are all 0 "
            "or "
            "infinite, and 0 / 0 and ∞ / ∞ are nan",
            i);
      }
      sum += static_cast<double>(weights(i, j));
    }
    if (std::abs(sum - 1) > 10 * tolerance) {
      return fmt::format(
          "softmax: row {} sums to {:.4f}, not to 1: its exponentials are divided by something "
          "other "
          "than their sum, or some are missing",
          i, sum);
    }
  }
  return exponents_that_differ(weights, scores);
}

inline MatrixMatcher are_the_probabilities_of(const Matrix& scores) {
  namespace wrong = reference::wrong;
  MatrixMatcher matcher = equals(reference::softmax(scores));
  const Real equal = Real{1} / static_cast<Real>(std::max<std::size_t>(scores.shape(1), 1));
  matcher
      .unless("softmax: all weights are equal: the differences between the scores are lost",
              matrix(scores.shape(0), scores.shape(1), equal))
      .unless("softmax: negative scores count as 0",
              softmax_of_changed(scores, [](Real score) { return std::max(score, Real{0}); }))
      .unless("softmax: the absolute values of the scores are used",
              softmax_of_changed(scores, [](Real score) { return std::abs(score); }))
      .unless(
          "softmax: the maximum is searched from a finite number upwards, and these scores are all "
          "below it",
          softmax_less(scores, running_max_from(Real(-1e5))))
      .unless(
          "softmax: the maximum is searched from 0 upwards, so a row of negative scores has 0 as "
          "its maximum",
          softmax_less(scores, running_max_from(0)))
      .unless(
          "softmax: the row's maximum isn't subtracted, so the exponentials overflow to infinity",
          softmax_less(scores, [](ConstRow) { return Real{0}; }))
      .unless("softmax: the first score of the row is subtracted, not its maximum",
              softmax_less(scores, [](ConstRow row) { return row.empty() ? Real{0} : row[0]; }))
      .unless("softmax: the last score of the row is subtracted, not its maximum",
              softmax_less(
                  scores, [](ConstRow row) { return row.empty() ? Real{0} : row[row.size() - 1]; }))
      .unless("softmax: the largest absolute value of the row is subtracted, not its maximum",
              softmax_less(scores,
                           [](ConstRow row) {
                             Real largest = 0;
                             for (const Real x : row) largest = std::max(largest, std::abs(x));
                             return largest;
                           }))
      .unless("softmax: the row's minimum is subtracted, not its maximum",
              softmax_less(scores,
                           [](ConstRow row) { return *std::min_element(row.begin(), row.end()); }))
      .unless("softmax: the maximum of the whole matrix is subtracted, not each row's own",
              softmax_less(scores, [&](ConstRow) { return max_of(numbers(scores)); }))
      .unless("softmax runs down the columns: the columns sum to 1, not the rows",
              wrong::softmax_down_the_columns(scores))
      .unless("softmax: the exponentials aren't divided by their row's sum",
              wrong::exponentials_alone(scores))
      .unless("softmax: the scores are divided by their sum, without exponentials",
              wrong::scores_over_their_sum(scores))
      .unless("softmax has base 2, not e", wrong::softmax_of_base_two(scores))
      .unless("softmax runs over the whole matrix at once, not over each row",
              wrong::softmax_of_everything(scores))
      .unless("softmax is applied twice", reference::softmax(reference::softmax(scores)))
      .unless("softmax: the scores are divided by their row's maximum, which should be subtracted",
              [scores] {
                Matrix divided = scores;
                for (std::size_t i = 0; i < scores.shape(0); ++i) {
                  const Real max = max_of(row(scores, i));
                  for (std::size_t j = 0; j < scores.shape(1); ++j) divided(i, j) /= max;
                }
                return reference::softmax(divided);
              })
      .diagnosed_by(
          [scores](const Matrix& weights) { return wrong_probabilities(weights, scores); });
  return matcher;
}

}  // namespace shared

TEST_CASE("softmax turns every row into probabilities at any length") {
  for (const std::size_t columns : {5U, 2U, 1U, 12U, 33U, 97U, 130U, 1024U}) {
    const Matrix scores = shared::scores_around(0, 7, columns, columns);
    INFO("softmax of 7 rows of " << columns << " scores");
    CHECK_THAT(softmax(scores), shared::are_the_probabilities_of(scores));
  }
  const Matrix tall = shared::scores_around(0, 130, 3, 5);
  INFO("softmax of 130 rows of 3 scores");
  CHECK_THAT(softmax(tall), shared::are_the_probabilities_of(tall));
}

TEST_CASE("softmax stays exact for scores of any size and sign") {
  for (const Real center :
       {Real(100), Real(1000), Real(1e5), Real(-100), Real(-1000), Real(-1e5)}) {
    const Matrix scores = shared::scores_around(center, 4, 9, 17);
    INFO("softmax of scores around " << center);
    CHECK_THAT(softmax(scores), shared::are_the_probabilities_of(scores));
  }
}

TEST_CASE("softmax gives equal scores equal probabilities however large they are") {
  for (const Real score : {Real(1e30), Real(-1e30), std::numeric_limits<Real>::max(),
                           std::numeric_limits<Real>::lowest()}) {
    const Matrix scores = matrix(2, 5, score);
    INFO("softmax of rows in which every score is " << score);
    CHECK_THAT(softmax(scores), shared::are_the_probabilities_of(scores));
  }
}

TEST_CASE("softmax treats each row by its own maximum") {
  const Matrix scores = {
      {Real(1e5), Real(1e5) - 1, Real(1e5) - 2}, {Real(-1e5), Real(-1e5) - 1, Real(-1e5) - 2},
      {Real(-1e30), Real(1e30), Real(0)},        {Real(0), Real(1), Real(2)},
      {Real(1000), Real(0), Real(-1)},           {Real(0), Real(-1), Real(1000)}};
  CHECK_THAT(softmax(scores), shared::are_the_probabilities_of(scores));
  for (const std::size_t place : {0U, 7U, 15U, 16U, 31U, 64U, 128U, 299U}) {
    Matrix long_row = shared::scores_around(0, 1, 300, place + 1);
    long_row(0, place) = 1000;
    INFO("a row of 300 scores whose maximum, at index " << place << ", is 1000");
    CHECK_THAT(softmax(long_row), shared::are_the_probabilities_of(long_row));
  }
}
