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

inline MatrixMatcher are_the_probabilities_of(const Matrix& scores) {
  namespace wrong = reference::wrong;
  MatrixMatcher matcher = equals(reference::softmax(scores));
  matcher
      .unless(
          "softmax: the row's maximum isn't subtracted, so the exponentials overflow to infinity",
          softmax_less(scores, [](ConstRow) { return Real{0}; }))
      .unless(
          "softmax: the maximum is searched from 0 upwards, so a row of negative scores has 0 as "
          "its maximum",
          softmax_less(scores, running_max_from(0)))
      .unless(
          "softmax: the maximum is searched from a finite number upwards, and these scores are all "
          "below it",
          softmax_less(scores, running_max_from(Real(-1e5))))
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
      .unless("softmax is applied twice", reference::softmax(reference::softmax(scores)));
  return matcher;
}

}  // namespace shared

TEST_CASE("softmax turns every row into probabilities at any length") {
  for (const std::size_t columns : {1U, 2U, 5U, 12U, 33U, 97U, 130U, 1024U}) {
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
  const Matrix scores = {{Real(1e5), Real(1e5) - 1, Real(1e5) - 2},
                         {Real(-1e5), Real(-1e5) - 1, Real(-1e5) - 2},
                         {Real(-1e30), Real(1e30), Real(0)},
                         {Real(0), Real(1), Real(2)}};
  CHECK_THAT(softmax(scores), shared::are_the_probabilities_of(scores));
}
