#pragma once
/// @file
/// @brief A linear layer, forward and backward: y = x W + b.

#include "common/rows.hpp"

//! [linear]
/// y = x W + b, the same for each row: no token sees another.
/// @param y  (n, d_out)  written
/// @param x  (n, d_in)
/// @param W  (d_in, d_out)
/// @param b  (d_out)
/// @throws std::invalid_argument when the shapes do not fit together
inline void linear(Matrix& y, const Matrix& x, const Matrix& W, const Vector& b) {
  for (std::size_t i = 0; i < y.shape(0); ++i) {
    std::copy(b.begin(), b.end(), row(y, i).begin());
  }
  matmul_add(y, x, W);
}
//! [linear]

//! [linear_backward]
/// What the gradient in y says about W and b. About x it says grad_y Wᵀ, which is a product alone.
/// @param grad_W  (d_in, d_out)  added to
/// @param grad_b  (d_out)        added to
/// @param grad_y  (n, d_out)
/// @param x       (n, d_in)
inline void linear_backward(Matrix& grad_W, Vector& grad_b, const Matrix& grad_y, const Matrix& x) {
  matmul_add(grad_W, transposed(x), grad_y);
  const Row sums = row(grad_b);
  for (std::size_t i = 0; i < grad_y.shape(0); ++i) {
    const ConstRow g = row(grad_y, i);
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += g[j];
  }
}
//! [linear_backward]
