#pragma once
/// @file
/// @brief What every chapter's `dropout` must do, checked against independent arithmetic and not
/// against what the tested code recorded. A chapter's tests include this after its own
/// attention.hpp.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support.hpp"

namespace shared {

/// The fraction of entries that are dropped in both of two matrices.
inline double dropped_together(const Matrix& a, const Matrix& b) {
  std::size_t both = 0;
  for (std::size_t n = 0; n < a.size(); ++n) both += a.flat(n) == 0 && b.flat(n) == 0 ? 1 : 0;
  return static_cast<double>(both) / static_cast<double>(a.size());
}

/// `m` without its first rows and columns, and as many of its last.
inline Matrix shifted(const Matrix& m, std::size_t rows, std::size_t columns, bool first) {
  const std::size_t height = m.shape(0) - rows;
  const std::size_t width = m.shape(1) - columns;
  return first ? Matrix(xt::view(m, xt::range(0, height), xt::range(0, width)))
               : Matrix(xt::view(m, xt::range(rows, rows + height),
                                 xt::range(columns, columns + width)));
}

/// What the dropped entries have in common: whole columns, or whole rows.
inline std::string pattern_of(const Matrix& after) {
  bool columns = true;
  bool rows = true;
  for (std::size_t i = 0; i < after.shape(0); ++i) {
    for (std::size_t j = 0; j < after.shape(1); ++j) {
      columns = columns && (after(i, j) == 0) == (after(0, j) == 0);
      rows = rows && (after(i, j) == 0) == (after(i, 0) == 0);
    }
  }
  if (columns) return "every row drops the same columns: each weight needs its own draw";
  if (rows) return "whole rows are dropped: each weight needs its own draw";
  return "each weight has its own draw";
}

/// The entries that are neither 0 nor the weight over 1 − p, counted; and a name for what they are.
inline std::string wrong_factors(const Matrix& after, const Matrix& weights, double p) {
  std::size_t wrong = 0;
  std::size_t as_they_were = 0;
  std::size_t over_p = 0;
  std::size_t times = 0;
  for (std::size_t n = 0; n < weights.size(); ++n) {
    const auto weight = static_cast<double>(weights.flat(n));
    const auto got = static_cast<double>(after.flat(n));
    const auto is = [&](double want) {
      return std::abs(got - want) <= 4 * tolerance * std::abs(want);
    };
    if (got == 0 || is(weight / (1 - p))) continue;
    ++wrong;
    as_they_were += is(weight) ? 1 : 0;
    over_p += is(weight / p) ? 1 : 0;
    times += is(weight * (1 - p)) ? 1 : 0;
  }
  if (wrong == 0) return "";
  std::string text =
      fmt::format("{} of {} weights after dropout are neither 0 nor the weight divided by 1 - p",
                  wrong, weights.size());
  if (wrong == as_they_were) {
    text += std::any_of(after.begin(), after.end(), [](Real entry) { return entry == 0; })
                ? "\n  This looks like: the weights that remain aren't scaled up."
                : "\n  This looks like: nothing is dropped.";
  }
  if (wrong == over_p)
    text += "\n  This looks like: the weights that remain are divided by p, not by 1 - p.";
  bool rows_sum_to_one = true;
  for (std::size_t i = 0; i < after.shape(0); ++i) {
    double before = 0;
    double left = 0;
    for (std::size_t j = 0; j < after.shape(1); ++j) {
      before += static_cast<double>(weights(i, j));
      left += static_cast<double>(after(i, j));
    }
    rows_sum_to_one = rows_sum_to_one && (left == 0 || std::abs(left - 1) < 1e-3 ||
                                          std::abs(left - before) < 1e-3 * std::abs(before));
  }
  if (rows_sum_to_one)
    text += "\n  This looks like: each row is made to sum to what it was before dropout, or to 1.";
  if (wrong == times)
    text += "\n  This looks like: the weights that remain are multiplied by 1 - p.";
  return text;
}

}  // namespace shared

TEST_CASE("dropout zeroes a weight or divides it by 1 - p", "[A15]") {
  Generator drawn(7);
  const Matrix weights = xt::abs(normal_matrix(130, 33, drawn)) + Real(0.01);
  for (const Real p : {Real(0.1), Real(0.3), Real(0.5), Real(0.8)}) {
    Generator generator(11);
    const Matrix after = dropout(weights, p, generator);
    const double dropped = shared::dropped_together(after, after);
    INFO("p is " << p << ", and " << dropped << " of the weights are dropped");
    CHECK(shared::wrong_factors(after, weights, static_cast<double>(p)) == "");
    // Five standard deviations of a mean of 4,290 draws.
    const double q = static_cast<double>(p);
    INFO(shared::pattern_of(after));
    CHECK_THAT(dropped, WithinAbs(q, 5 * std::sqrt(q * (1 - q) / 4290)));
  }
}

TEST_CASE("dropout decides about each weight independently", "[A15]") {
  Generator generator(3);
  const Matrix after = dropout(matrix(97, 130, 1), Real(0.5), generator);
  const Matrix again = dropout(matrix(97, 130, 1), Real(0.5), generator);
  const double five_deviations = 5 * std::sqrt(0.25 * 0.75 / (96 * 129));
  const auto neighbours = [&](std::size_t rows, std::size_t columns) {
    return shared::dropped_together(shared::shifted(after, rows, columns, true),
                                    shared::shifted(after, rows, columns, false));
  };
  INFO("two weights are dropped together with probability 0.25 when p is 0.5");
  {
    INFO("neighbours in a row; more: whole rows are dropped at once");
    CHECK_THAT(neighbours(0, 1), WithinAbs(0.25, five_deviations));
  }
  {
    INFO("neighbours in a column; more: whole columns are dropped at once");
    CHECK_THAT(neighbours(1, 0), WithinAbs(0.25, five_deviations));
  }
  {
    INFO("halves of a row, 65 columns apart");
    CHECK_THAT(neighbours(0, 65), WithinAbs(0.25, 2 * five_deviations));
  }
  {
    INFO("the same weight in two calls; more: each step samples the same dropout mask");
    CHECK_THAT(shared::dropped_together(after, again), WithinAbs(0.25, five_deviations));
  }
}

TEST_CASE("the seed decides what dropout zeroes", "[A15]") {
  const auto after = [](std::uint64_t seed) {
    Generator generator(seed);
    return dropout(matrix(16, 16, 1), Real(0.5), generator);
  };
  CHECK(identical(after(1), after(1)));
  INFO("two seeds drop the same weights: the generator that was passed isn't used");
  CHECK_FALSE(identical(after(1), after(2)));
}

TEST_CASE("dropout of 0 keeps every weight and dropout of 1 zeroes all", "[A15]") {
  Generator generator(17);
  const Matrix weights = normal_matrix(33, 9, generator);
  CHECK(identical(dropout(weights, 0, generator), weights));
  INFO("with p = 1 a weight divided by 1 - p is infinite");
  CHECK_THAT(dropout(weights, 1, generator), equals(matrix(33, 9)));
}

TEST_CASE("a dropout probability outside 0 to 1 is rejected with its value", "[A15]") {
  Generator generator(18);
  const Real inf = std::numeric_limits<Real>::infinity();
  for (const Real p :
       {Real(-0.5), Real(1.5), Real(20), inf, -inf, std::numeric_limits<Real>::quiet_NaN()}) {
    INFO("p is " << p);
    CHECK_THAT(message_of([&] { dropout(matrix(2, 2, 1), p, generator); }),
               ContainsSubstring(fmt::format("dropout probability is {}", p)));
  }
}
