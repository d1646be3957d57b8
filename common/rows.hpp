#pragma once
/// @file
/// @brief Rows of a matrix, viewed in place, and the loops over them that need help to be fast.
///
/// A compiler turns `for (j) y[j] = a[j] * x[j]` into vector instructions, but not a sum (it may
/// not change the order of additions) and not calls of `std::exp`. These functions do.

#include <span>

#include "common/tensor.hpp"

/// A row of contiguous numbers, writable.
using Row = std::span<Real>;
/// A row of contiguous numbers, read-only.
using ConstRow = std::span<const Real>;

/// Row `i` of a matrix, or a whole vector, in place; unchecked.
inline Row row(Matrix& m, std::size_t i) {
  return {m.data() + i * m.shape(1), m.shape(1)};
}
inline ConstRow row(const Matrix& m, std::size_t i) {
  return {m.data() + i * m.shape(1), m.shape(1)};
}
inline Row row(Vector& v) {
  return {v.data(), v.size()};
}
inline ConstRow row(const Vector& v) {
  return {v.data(), v.size()};
}

/// All elements of a matrix, row by row.
inline Row numbers(Matrix& m) {
  return {m.data(), m.size()};
}
inline ConstRow numbers(const Matrix& m) {
  return {m.data(), m.size()};
}

/// The sum; 0 for an empty row.
Real sum_of(ConstRow x);

/// The maximum; −∞ for an empty row.
Real max_of(ConstRow x);

/// The dot product of two rows of the same length.
Real dot(ConstRow x, ConstRow y);

/// out[j] = e^x[j]. The rows have the same length, and may be the same row.
void exp_into(Row out, ConstRow x);

/// out[j] = tanh(x[j]). The rows have the same length, and may be the same row.
void tanh_into(Row out, ConstRow x);
