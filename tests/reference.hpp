#pragma once
/// @file
/// @brief Attention again, as slow and obvious loops in double precision: what the chapters are
/// compared with.
///
/// Nothing here uses matmul, views or the chapters' code. Each step can be done wrong on purpose,
/// so that a test can say what a failure looks like.

#include "common/tensor.hpp"

namespace reference {

Matrix make(std::size_t rows, std::size_t columns);

Matrix transposed(const Matrix& a);

Matrix product(const Matrix& a, const Matrix& b);

Matrix sum(const Matrix& a, const Matrix& b);

/// Every pair's dot product: row i of `a` with row j of `b`.
Matrix dot_products(const Matrix& a, const Matrix& b);

Matrix divided(const Matrix& a, double divisor);

Matrix softmax(const Matrix& scores);

/// The usual ways to get softmax wrong.
namespace wrong {

Matrix softmax_down_the_columns(const Matrix& scores);

Matrix softmax_without_total(const Matrix& scores);

Matrix exponentials_alone(const Matrix& scores);

Matrix scores_over_their_sum(const Matrix& scores);

/// softmax over all entries at once, not row by row.
Matrix softmax_of_everything(const Matrix& scores);

/// Softmax with base 2 in place of e.
Matrix softmax_of_base_two(const Matrix& scores);

/// Dot products of tokens that were brought to length 1.
Matrix cosines(const Matrix& X);

/// Softmax with the diagonal masked: no token attends to itself.
Matrix softmax_without_diagonal(const Matrix& scores);

/// The diagonal set to zero after softmax.
Matrix softmax_then_no_diagonal(const Matrix& scores);

}  // namespace wrong
}  // namespace reference
