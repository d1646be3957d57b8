#pragma once
/// @file
/// @brief The objective: how surprised the model is by the symbol that comes next.

#include <fmt/core.h>

#include <stdexcept>

#include "attention.hpp"

//! [cross_entropy]
/// The mean of -log p[target] over all rows, in natural units: ln(symbols) for a model that knows
/// nothing.
/// @param shares   (n, symbols)  in: the logits; out: their softmax, row by row
/// @param targets  (n)           the symbol that really came next, for each row
/// @throws std::invalid_argument when there are not as many targets as rows, or none
/// @throws std::out_of_range when a target is no symbol
inline double cross_entropy(Matrix& shares, std::span<const int> targets) {
  if (targets.size() != shares.shape(0) || targets.empty()) {
    throw std::invalid_argument(
        fmt::format("cross_entropy: {} targets for {} rows", targets.size(), shares.shape(0)));
  }
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Row p = row(shares, i);
    const auto target = static_cast<std::size_t>(targets[i]);
    if (target >= p.size()) {
      throw std::out_of_range(
          fmt::format("cross_entropy: target {} of {} symbols", targets[i], p.size()));
    }
    // -log softmax(x)[target] = log Σ e^x - x[target], which no share of 0 can make infinite.
    const Real target_logit = p[target];
    const Real largest = max_of(p);
    for (Real& x : p) x -= largest;
    exp_into(p, p);
    const Real total = sum_of(p);
    for (Real& power : p) power /= total;
    sum += std::log(static_cast<double>(total)) + static_cast<double>(largest) -
           static_cast<double>(target_logit);
  }
  return sum / static_cast<double>(targets.size());
}
//! [cross_entropy]

//! [cross_entropy_backward]
/// The gradient in the logits: (shares - 1 at the target) / n.
/// @param shares   (n, symbols)  what `cross_entropy` left; becomes the gradient in the logits
/// @param targets  (n)
/// @param part     what the loss of these rows counts in the loss of the whole batch
inline void cross_entropy_backward(Matrix& shares, std::span<const int> targets, Real part) {
  const Real weight = part / static_cast<Real>(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Row p = row(shares, i);
    p[static_cast<std::size_t>(targets[i])] -= 1;
    for (Real& share : p) share *= weight;
  }
}
//! [cross_entropy_backward]
