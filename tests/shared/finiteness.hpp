#pragma once
/// @file
/// @brief What every chapter does with input that isn't finite. A chapter's tests define
/// `shared::self_attention(X)`, which runs its forward pass on any X of `shared::d_in` columns, and
/// include this.

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "support.hpp"

TEST_CASE("non-finite input is rejected with its index") {
  const Real inf = std::numeric_limits<Real>::infinity();
  for (const Real entry : {std::numeric_limits<Real>::quiet_NaN(), inf, -inf}) {
    for (const std::size_t row : {0U, 1U, 20U, 40U}) {
      Generator generator(row);
      Matrix X = normal_matrix(41, shared::d_in, generator);
      const std::size_t column = row % shared::d_in;
      X(row, column) = entry;
      INFO("X(" << row << ", " << column << ") is " << entry);
      CHECK_THAT(message_of([&] { shared::self_attention(X); }),
                 ContainsSubstring(fmt::format("({}, {}) is {}", row, column, entry)));
    }
  }
}

TEST_CASE("finite input whose dot products are too large is rejected and never becomes nan") {
  const Real large = std::sqrt(std::numeric_limits<Real>::max()) * Real(10);
  for (const std::size_t row : {0U, 1U, 40U}) {
    Generator generator(row);
    Matrix X = normal_matrix(41, shared::d_in, generator);
    if (message_of([&] { shared::self_attention(X); }) != message_of([] {}))
      return;  // told elsewhere
    for (std::size_t j = 0; j < shared::d_in; ++j) X(row, j) = large;
    INFO("row " << row << " of X is " << large << " everywhere, whose square is infinite");
    CHECK_THAT(message_of([&] { shared::self_attention(X); }),
               ContainsSubstring("too large to be multiplied"));
  }
}
