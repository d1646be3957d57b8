#pragma once
/// @file
/// @brief Rows of numbers where they lie, and what a loop over a row cannot do fast by itself.
///
/// A compiler turns `for (j) y[j] = a[j] * x[j]` into vector instructions, but neither a sum (it
/// may not change the order of additions) nor a call of `std::exp`. Those are here.

#include <span>

#include "common/tensor.hpp"

/// Numbers that lie one after the other, to be read and written.
using Row = std::span<Real>;
/// Numbers that lie one after the other, to be read.
using ConstRow = std::span<const Real>;

/// Row `i` of a matrix, or all of a vector, where it lies; no check.
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

/// All numbers of a matrix, row after row.
inline Row numbers(Matrix& m) {
  return {m.data(), m.size()};
}
inline ConstRow numbers(const Matrix& m) {
  return {m.data(), m.size()};
}

/// The sum of the numbers; 0 when there is none.
Real sum_of(ConstRow x);

/// The largest number; −∞ when there is none.
Real max_of(ConstRow x);

/// The sum of the products x[j] y[j] of two rows of one length.
Real dot(ConstRow x, ConstRow y);

/// out[j] = e^x[j]. The two rows have one length, and may be the same.
void exp_into(Row out, ConstRow x);

/// out[j] = tanh(x[j]). The two rows have one length, and may be the same.
void tanh_into(Row out, ConstRow x);
