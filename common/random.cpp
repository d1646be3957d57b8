#include "common/random.hpp"

#include <cmath>
#include <numbers>

Generator::Generator(std::uint64_t seed) : engine_(static_cast<std::uint32_t>(seed)) {}

double Generator::unit() {
  constexpr std::uint32_t steps =
      1U << 24;  // as many as a float in [1, 2) can tell apart, and one bit
  return static_cast<double>(engine_() % steps) / steps;
}

Real Generator::uniform(Real low, Real high) {
  // In float whatever Real is, so that a build with double draws the same numbers.
  const auto from = static_cast<float>(low);
  const auto width = static_cast<float>(high) - from;
  // One rounding, not two, with every compiler, as in PyTorch on processors with a fused
  // multiply-add.
  return static_cast<Real>(std::fma(static_cast<float>(unit()), width, from));
}

Real Generator::normal() {
  const double angle = 2 * std::numbers::pi * unit();
  const double radius = std::sqrt(-2 * std::log1p(-unit()));
  return static_cast<Real>(radius * std::cos(angle));
}

Matrix linear_weights(std::size_t d_in, std::size_t d_out, Generator& generator) {
  const auto bound = static_cast<Real>(1 / std::sqrt(static_cast<double>(d_in)));
  Matrix weights(Matrix::shape_type{d_in, d_out});
  for (std::size_t j = 0; j < d_out; ++j) {
    for (std::size_t i = 0; i < d_in; ++i) weights(i, j) = generator.uniform(-bound, bound);
  }
  return weights;
}

Matrix normal_matrix(std::size_t rows, std::size_t columns, Generator& generator) {
  Matrix numbers(Matrix::shape_type{rows, columns});
  for (Real& number : numbers) number = generator.normal();
  return numbers;
}
