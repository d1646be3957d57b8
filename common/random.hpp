#pragma once
/// @file
/// @brief Random numbers that are the same on every machine, and the same as PyTorch's on a CPU.
///
/// The standard fixes C++'s random engines to the last bit, but not its distributions: those differ
/// between libraries, so they're written out here.

#include <cstdint>
#include <random>

#include "common/tensor.hpp"

/// PyTorch's CPU generator: `Generator(42)` draws the numbers that follow `torch.manual_seed(42)`.
class Generator {
 public:
  /// @param seed  any number; as in PyTorch, only its low 32 bits count
  explicit Generator(std::uint64_t seed);

  /// The next number from the uniform distribution over [low, high): `torch.rand` in float32,
  /// scaled.
  Real uniform(Real low, Real high);

  /// The next number from the standard normal distribution, by the Box–Muller method. (PyTorch's
  /// own stream of normal numbers differs.)
  Real normal();

 private:
  double unit();  // the next number in [0, 1), a multiple of 2^-24

  std::mt19937 engine_;
};

//! [linear_weights]
/// The weights of a linear layer as PyTorch's `nn.Linear(d_in, d_out, bias=False)` draws them:
/// from the uniform distribution over ±1/√d_in.
/// @return (d_in, d_out), ready for `X W`. PyTorch draws, stores and prints the transpose,
///         (d_out, d_in).
Matrix linear_weights(std::size_t d_in, std::size_t d_out, Generator& generator);
//! [linear_weights]

/// A matrix of independent numbers with mean 0 and variance 1.
/// @return (rows, columns), drawn row by row.
Matrix normal_matrix(std::size_t rows, std::size_t columns, Generator& generator);
