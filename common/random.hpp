#pragma once
/// @file
/// @brief Random numbers that are the same everywhere, and the same as PyTorch's.
///
/// The distributions of the C++ standard library may differ from one library to the next (the
/// engines may not), so the distributions are written out here.

#include <cstdint>
#include <random>

#include "common/tensor.hpp"

/// PyTorch's generator for the CPU: after `Generator(42)` come the numbers that
/// `torch.manual_seed(42)` gives.
class Generator {
 public:
  /// @param seed  any number; like PyTorch's, only its low 32 bits count.
  explicit Generator(std::uint64_t seed);

  /// The next number, evenly spread over [low, high): `torch.rand` in float32, stretched.
  Real uniform(Real low, Real high);

  /// The next number with mean 0 and variance 1, by Box and Muller's method. (Not PyTorch's
  /// stream.)
  Real normal();

 private:
  double share();  // the next number of [0, 1) in steps of 2^-24

  std::mt19937 engine_;
};

//! [linear_weights]
/// The weights of a linear layer as PyTorch's `nn.Linear(d_in, d_out, bias=False)` draws them:
/// evenly spread over ±1/√d_in.
/// @return (d_in, d_out), ready for `X W`. PyTorch draws, stores and prints them the other way
/// round,
///         (d_out, d_in): the transpose of this.
Matrix linear_weights(std::size_t d_in, std::size_t d_out, Generator& generator);
//! [linear_weights]

/// Independent numbers with mean 0 and variance 1.
/// @return (rows, columns), drawn row by row.
Matrix normal_matrix(std::size_t rows, std::size_t columns, Generator& generator);
