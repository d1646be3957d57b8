#pragma once
/// @file
/// @brief How gradients become better weights: AdamW, its learning rate over time, and the clipping
/// of gradients.

#include <numbers>

#include "model.hpp"

//! [adamw]
/// "Decoupled Weight Decay Regularization", Loshchilov and Hutter, 2019.
struct AdamW {
  //! [adamw_numbers]
  double beta_1 = 0.9;    ///< how much of the mean gradient stays, each step
  double beta_2 = 0.99;   ///< how much of the mean squared gradient stays
  double epsilon = 1e-8;  ///< keeps the division from one by 0
  double decay = 0.1;     ///< how much a matrix shrinks in a step, times the learning rate
  //! [adamw_numbers]

  /// One step of one tensor, or of a part of it.
  /// @param weights   changed
  /// @param mean      running mean of the gradient, changed
  /// @param square    running mean of its square, changed
  /// @param gradient  already clipped
  /// @param step      1 for the first step: the means begin at 0, and are 1 - βᵗ of what they would
  ///                  be of a constant gradient
  /// @param decays    whether the weights are a matrix; gains and biases keep their size
  void update(Row weights, Row mean, Row square, ConstRow gradient, std::size_t step,
              double learning_rate, bool decays) const {
    const auto b1 = static_cast<Real>(beta_1);
    const auto b2 = static_cast<Real>(beta_2);
    const auto e = static_cast<Real>(epsilon);
    const auto t = static_cast<double>(step);
    const auto mean_scale = static_cast<Real>(1 / (1 - std::pow(beta_1, t)));
    const auto square_scale = static_cast<Real>(1 / (1 - std::pow(beta_2, t)));
    const auto rate = static_cast<Real>(learning_rate);
    const auto kept = static_cast<Real>(decays ? 1 - learning_rate * decay : 1);
    for (std::size_t j = 0; j < weights.size(); ++j) {
      //! [adamw_weight]
      const Real g = gradient[j];
      mean[j] = b1 * mean[j] + (1 - b1) * g;
      square[j] = b2 * square[j] + (1 - b2) * g * g;
      const Real direction = mean_scale * mean[j] / (std::sqrt(square_scale * square[j]) + e);
      weights[j] = kept * weights[j] - rate * direction;
      //! [adamw_weight]
    }
  }
};
//! [adamw]

//! [schedule]
/// The learning rate over time: up in a straight line, then down along half a cosine.
struct Schedule {
  double highest = 1e-3;
  double lowest = 1e-4;
  std::size_t warm_up = 100;  ///< steps until `highest` is reached
  std::size_t steps = 2000;   ///< from then on the rate is `lowest`

  /// The rate of a step.
  /// @param step  0 for the first step
  double operator()(std::size_t step) const {
    if (step < warm_up) {
      return highest * static_cast<double>(step + 1) / static_cast<double>(warm_up + 1);
    }
    if (step >= steps) return lowest;
    const double way = static_cast<double>(step - warm_up) / static_cast<double>(steps - warm_up);
    return lowest + (highest - lowest) * (1 + std::cos(std::numbers::pi * way)) / 2;
  }
};
//! [schedule]

//! [clip]
/// The factor that brings all gradients together to a norm of `most`, if theirs is larger.
/// @param norm  √ of the sum of squares over all tensors
inline double clip_factor(double norm, double most) {
  return norm > most ? most / norm : 1;
}
//! [clip]
