#include "common/rows.hpp"

#include <array>
#include <numeric>

#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/core/xnoalias.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xnoalias.hpp>
#endif

namespace {

/// Makes xtensor, and through it xsimd, see a row: it owns nothing.
template <class T>
auto as_tensor(std::span<T> x) {
  const std::array<std::size_t, 1> shape{x.size()};
  return xt::adapt(x.data(), x.size(), xt::no_ownership(), shape);
}

}  // namespace

// `omp simd` allows the compiler, in this loop alone, to add in another order: several sums side by
// side, one for each place of a vector register.
Real sum_of(ConstRow x) {
  Real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < x.size(); ++j) sum += x[j];
  return sum;
}

// Not so for the largest: clang++ would have to know that no number is a NaN.
Real max_of(ConstRow x) {
  const auto larger = [](Real a, Real b) { return a > b ? a : b; };
  return std::reduce(x.begin(), x.end(), -std::numeric_limits<Real>::infinity(), larger);
}

Real dot(ConstRow x, ConstRow y) {
  Real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * y[j];
  return sum;
}

void exp_into(Row out, ConstRow x) {
  auto target = as_tensor(out);
  xt::noalias(target) = xt::exp(as_tensor(x));
}

void tanh_into(Row out, ConstRow x) {
  auto target = as_tensor(out);
  xt::noalias(target) = xt::tanh(as_tensor(x));
}
