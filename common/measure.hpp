#pragma once
/// @file
/// @brief What the chapters measure about scores and weights, to say in numbers what a change does.

#include <vector>

#include "common/tensor.hpp"

/// How spread out one row of attention weights is, in bits: 0 when one token gets all, log2(T) when
/// all get the same.
double entropy_bits(const Vector& weights);

/// The size of softmax's derivative at one row of weights: the Frobenius norm of the Jacobian
/// diag(p) - p pᵀ. It tells how much a step of training can move the weights: 0 when one token has
/// all the weight.
double softmax_jacobian_norm(const Vector& weights);

/// The standard deviation of all entries.
double standard_deviation(const Matrix& m);

/// Row `row` alone, (1, d).
Matrix row_of(const Matrix& m, std::size_t row);

/// The sum of one row.
Real row_sum(const Matrix& m, std::size_t row);

/// The column of the largest entry of a row; the first of them when several are equal.
std::size_t argmax(const Matrix& m, std::size_t row);

/// The rows of `m` in another order: row i of the result is row `order[i]`.
Matrix reorder_rows(const Matrix& m, const std::vector<std::size_t>& order);
