/// @file
/// @brief Prints which library multiplies the matrices: tests/benchmark and tests/fresh ask.

#include "common/blas.hpp"

#include <fmt/core.h>

int main() {
  fmt::print("{}\n", blas_name());
}
