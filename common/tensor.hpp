#pragma once
/// @file
/// @brief The book's tensors: `Real`, `Vector` and `Matrix`, and the matrix product.
///
/// Only this header includes xtensor. Version 0.26 moved xtensor's headers into folders, so their
/// location tells the version.
///
/// Two rules avoid xtensor's trap, lazy evaluation: `a + b` is an expression that refers to `a` and
/// `b`, not a result. A local variable names its type (`Matrix`, never `auto`, which would keep the
/// expression), and a function returns `Matrix`.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/generators/xbuilder.hpp>
#include <xtensor/misc/xmanipulation.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

#include "common/memory.hpp"
#include "common/real.hpp"

/// A vector.
using Vector = xt::xtensor<Real, 1, xt::layout_type::row_major, TensorAllocator<Real>>;
/// A matrix, stored row by row.
using Matrix = xt::xtensor<Real, 2, xt::layout_type::row_major, TensorAllocator<Real>>;

/// A matrix of that many rows and columns, every entry `fill`.
Matrix matrix(std::size_t rows, std::size_t columns, Real fill = 0);

/// A view of a matrix, or of a part of one: nothing is copied.
///
/// A `Matrix`, its `xt::transpose` and an `xt::view` of its rows or columns convert to a
/// `MatrixView` implicitly, so `matmul(Q, xt::transpose(K))` copies no element of K. A view must
/// not outlive its matrix. Expressions without storage, such as `A + B`, don't convert: assign them
/// to a Matrix first.
struct MatrixView {
  const Real* data;            ///< the entry (0, 0)
  std::size_t rows;            ///< number of rows
  std::size_t columns;         ///< number of columns
  std::ptrdiff_t row_step;     ///< from an entry to the one below it, in elements
  std::ptrdiff_t column_step;  ///< from an entry to its right neighbour, in elements

  template <class Expression>
  requires requires(const Expression& e) { e.data(), e.data_offset(), e.strides(); }
  MatrixView(const Expression& e)
      : data(e.data() + e.data_offset()),
        rows(e.shape()[0]),
        columns(e.shape()[1]),
        row_step(static_cast<std::ptrdiff_t>(e.strides()[0])),
        column_step(static_cast<std::ptrdiff_t>(e.strides()[1])) {}

  MatrixView(const Real* first, std::size_t height, std::size_t width, std::ptrdiff_t down,
             std::ptrdiff_t right)
      : data(first), rows(height), columns(width), row_step(down), column_step(right) {}

  /// The entry in row `i`, column `j`; unchecked.
  const Real& operator()(std::size_t i, std::size_t j) const {
    return data[static_cast<std::ptrdiff_t>(i) * row_step +
                static_cast<std::ptrdiff_t>(j) * column_step];
  }
};

/// A writable view of rows of a matrix, or of a part of each row.
///
/// A `Matrix` converts to one implicitly. Like a view it must not outlive its matrix.
struct MatrixSpan {
  Real* data;            ///< the entry (0, 0)
  std::size_t rows;      ///< number of rows
  std::size_t columns;   ///< number of columns
  std::size_t row_step;  ///< from an entry to the one below it, in elements

  MatrixSpan(Matrix& m)
      : data(m.data()), rows(m.shape(0)), columns(m.shape(1)), row_step(m.shape(1)) {}
  MatrixSpan(Real* first, std::size_t height, std::size_t width, std::size_t down)
      : data(first), rows(height), columns(width), row_step(down) {}

  /// A writable view can also be read.
  operator MatrixView() const {
    return {data, rows, columns, static_cast<std::ptrdiff_t>(row_step), 1};
  }

  /// The entry in row `i`, column `j`; unchecked.
  Real& operator()(std::size_t i, std::size_t j) const { return data[i * row_step + j]; }
};

/// The part of a matrix that begins in row `top` and column `left`.
/// @return (height, width), a view
/// @throws std::out_of_range when the matrix ends before the part does
MatrixView part(const Matrix& m, std::size_t top, std::size_t height, std::size_t left,
                std::size_t width);
MatrixSpan part(Matrix& m, std::size_t top, std::size_t height, std::size_t left,
                std::size_t width);

/// The transpose, as a view. (xt::transpose makes a larger view, slowly.)
/// @param m  (n, k)
/// @return   (k, n)
MatrixView transposed(const MatrixView& m);

//! [matmul]
/// The matrix product `a b`.
/// @param a  (n, k)
/// @param b  (k, m)
/// @return   (n, m)
/// @throws std::invalid_argument when the inner sizes differ; the sentence names both shapes.
/// @throws std::overflow_error when `a` and `b` are finite, but too large for their product to be.
Matrix matmul(const MatrixView& a, const MatrixView& b);
//! [matmul]

/// Writes the matrix product `a b` into `out`, which already has the right shape: no memory is
/// allocated.
/// @throws std::invalid_argument when the inner sizes differ, or when `out` has the wrong shape or
/// shares memory with `a` or `b`
void matmul_into(const MatrixSpan& out, const MatrixView& a, const MatrixView& b);

/// Adds the matrix product `a b` to `out`, as sums of gradients need it.
/// @throws std::invalid_argument when the inner sizes differ, or when `out` has the wrong shape or
/// shares memory with `a` or `b`
void matmul_add(const MatrixSpan& out, const MatrixView& a, const MatrixView& b);

/// Makes BLAS run each product on the calling thread, for programs that start threads themselves.
/// Only OpenBLAS has such a setting; other libraries are left alone.
void use_one_thread_a_product();

/// The maximum; −∞ for an empty vector. (xt::amax and xt::sum take four times as long.)
Real max_of(const Vector& numbers);

/// The sum; 0 for an empty vector.
Real sum_of(const Vector& numbers);

/// The numbers as a matrix of one column, (n, 1).
Matrix column(const std::vector<Real>& numbers);

/// The shape as the error messages print it: `(3, 2)`.
std::string shape_text(const MatrixView& m);

/// Rejects a matrix with an entry that is infinite or not a number.
/// @param name  what the matrix is called in the message
/// @throws std::invalid_argument naming the first such entry, `X(1, 0) is nan`.
void require_finite(const Matrix& m, const std::string& name);

/// Rejects a number outside [least, most], NaN included.
/// @param name  what the number is called in the message
/// @throws std::invalid_argument with the number and the bounds
void require_between(Real number, const std::string& name, Real least, Real most);

/// Rejects a number of things that can't be divided evenly among so many others, or among none.
/// @throws std::invalid_argument with both numbers, `10 columns cannot be divided evenly among 3
/// heads`
void require_divisible(std::size_t number, const std::string& things, std::size_t among,
                       const std::string& others);

/// Rejects matrices of different shapes.
/// @throws std::invalid_argument naming both shapes.
void require_same_shape(const Matrix& a, const std::string& name_of_a, const Matrix& b,
                        const std::string& name_of_b);

/// The largest |a - b| over all entries; 0 for matrices without entries, nan when a difference is
/// nan.
/// @throws std::invalid_argument when the shapes differ.
Real max_abs_difference(const Matrix& a, const Matrix& b);

/// The largest finite |entry|; 0 when there is none.
double max_abs(const Matrix& m);

/// Whether two matrices of the same shape are equal up to rounding: no difference is above
/// `tolerance` times the largest entry (or times 1, if all are smaller).
/// @throws std::invalid_argument when the shapes differ.
bool nearly_equal(const Matrix& a, const Matrix& b, double tolerance = 1e-5);
