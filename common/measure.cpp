#include "common/measure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

double entropy_bits(const Vector& weights) {
  double bits = 0;
  for (const Real p : weights) {
    if (p > 0) bits -= static_cast<double>(p) * std::log2(static_cast<double>(p));
  }
  return bits;
}

double softmax_jacobian_norm(const Vector& weights) {
  double sum_of_squares = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double p_i = static_cast<double>(weights(i));
      const double entry = (i == j ? p_i : 0.0) - p_i * static_cast<double>(weights(j));
      sum_of_squares += entry * entry;
    }
  }
  return std::sqrt(sum_of_squares);
}

double standard_deviation(const Matrix& m) {
  double sum = 0;
  double sum_of_squares = 0;
  for (const Real entry : m) {
    sum += static_cast<double>(entry);
    sum_of_squares += static_cast<double>(entry) * static_cast<double>(entry);
  }
  const double mean = sum / static_cast<double>(m.size());
  return std::sqrt(std::max(0.0, sum_of_squares / static_cast<double>(m.size()) - mean * mean));
}

Matrix row_of(const Matrix& m, std::size_t row) {
  return xt::view(m, xt::range(row, row + 1), xt::all());
}

Real row_sum(const Matrix& m, std::size_t row) {
  return xt::sum(xt::view(m, row, xt::all()))();
}

std::size_t argmax(const Matrix& m, std::size_t row) {
  std::size_t best = 0;
  for (std::size_t j = 1; j < m.shape(1); ++j) {
    if (m(row, j) > m(row, best)) best = j;
  }
  return best;
}

Matrix reorder_rows(const Matrix& m, const std::vector<std::size_t>& order) {
  Matrix result(Matrix::shape_type{order.size(), m.shape(1)});
  for (std::size_t i = 0; i < order.size(); ++i) {
    xt::view(result, i, xt::all()) = xt::view(m, order[i], xt::all());
  }
  return result;
}

Real rounded_to_half(Real x) {
  constexpr Real largest = 65504;
  constexpr int significant_bits = 11;
  constexpr int smallest_step = -24;  // of the subnormal numbers, as a power of two
  if (!std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int step = std::max(exponent - significant_bits, smallest_step);
  const Real half = std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
  if (std::abs(half) <= largest) return half;
  return std::copysign(std::numeric_limits<Real>::infinity(), x);
}
