#pragma once
/// @file
/// @brief What every chapter does with input that isn't finite. A chapter's tests define
/// `shared::self_attention(X)`, which runs its forward pass on any X of `shared::d_in` columns, and
/// include this.

#include <fmt/core.h>

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
