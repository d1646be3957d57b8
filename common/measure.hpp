#pragma once
/// @file
/// @brief Measurements of scores and weights, which show in numbers what a change does.

#include <vector>

#include "common/tensor.hpp"

/// The entropy of one row of attention weights, -Σ p log2(p), in bits: 0 when one token has all the
/// weight, log2(T) when all tokens have the same.
double entropy_bits(const Vector& weights);

/// The size of softmax's derivative at one row of weights p: the Frobenius norm of the Jacobian
/// diag(p) - p pᵀ, which is the derivative with respect to softmax's input. 0 when one token has
/// all the weight: then no small change of the scores moves the weights.
double softmax_jacobian_norm(const Vector& weights);

/// The standard deviation of a matrix's entries.
double standard_deviation(const Matrix& m);

/// One row as a matrix of shape (1, d).
Matrix row_of(const Matrix& m, std::size_t row);

/// The sum of one row.
Real row_sum(const Matrix& m, std::size_t row);

/// The column of the largest entry of a row; the first of them when several are equal.
std::size_t argmax(const Matrix& m, std::size_t row);

/// The rows of `m` in another order: row i of the result is row `order[i]`.
Matrix reorder_rows(const Matrix& m, const std::vector<std::size_t>& order);

/// The nearest number in half precision (binary16 of IEEE 754): 11 significant bits, at most 65,504
/// in size; what is larger becomes infinite.
Real rounded_to_half(Real x);
