#pragma once
/// @file
/// @brief Layer norm: each token's numbers brought to mean 0 and variance 1, then to a learned gain
/// and bias.

#include "common/rows.hpp"

//! [layer_norm_pass]
/// What a layer norm's forward leaves for its backward.
struct LayerNormPass {
  Matrix normalized;         ///< (n, width)  mean 0 and variance 1 in each row
  Vector inverse_deviation;  ///< (n)         1 / √(variance + ε) of each row of the input
  Matrix output;             ///< (n, width)

  /// Room for n rows.
  LayerNormPass(std::size_t n, std::size_t width)
      : normalized(Matrix::shape_type{n, width}),
        inverse_deviation(Vector::shape_type{n}),
        output(Matrix::shape_type{n, width}) {}
};
//! [layer_norm_pass]

//! [layer_norm]
/// "Layer Normalization", Ba, Kiros and Hinton, 2016.
struct LayerNorm {
  Vector gain;  ///< (width)
  Vector bias;  ///< (width)

  static constexpr Real epsilon = static_cast<Real>(1e-5);

  /// The norm that changes nothing but mean and variance: gain 1, bias 0.
  explicit LayerNorm(std::size_t width)
      : gain(Vector::shape_type{width}, 1), bias(Vector::shape_type{width}, 0) {}

  //! [layer_norm_forward]
  /// Fills the pass.
  /// @param x  (n, width)  each row for itself
  void forward(LayerNormPass& pass, const Matrix& x) const {
    const ConstRow a = row(gain);
    const ConstRow b = row(bias);
    const std::size_t width = a.size();
    for (std::size_t i = 0; i < x.shape(0); ++i) {
      const ConstRow x_i = row(x, i);
      const Row normalized = row(pass.normalized, i);
      const Row output = row(pass.output, i);
      //! [layer_norm_row]
      const Real mean = sum_of(x_i) / static_cast<Real>(width);
      for (std::size_t j = 0; j < width; ++j) normalized[j] = x_i[j] - mean;
      const Real variance = dot(normalized, normalized) / static_cast<Real>(width);
      const Real inverse = 1 / std::sqrt(variance + epsilon);
      for (std::size_t j = 0; j < width; ++j) {
        normalized[j] *= inverse;
        output[j] = a[j] * normalized[j] + b[j];
      }
      pass.inverse_deviation(i) = inverse;
      //! [layer_norm_row]
    }
  }
  //! [layer_norm_forward]

  //! [layer_norm_backward]
  /// @param grad_x       (n, width)  added to: the input goes on beside the norm, too
  /// @param gradient     the gradient of this norm's gain and bias, added to
  /// @param grad_output  (n, width)
  void backward(Matrix& grad_x, LayerNorm& gradient, const Matrix& grad_output,
                const LayerNormPass& pass) const {
    const ConstRow a = row(gain);
    const Row grad_a = row(gradient.gain);
    const Row grad_b = row(gradient.bias);
    const std::size_t width = a.size();
    Vector scaled(Vector::shape_type{width});
    const Row s = row(scaled);
    for (std::size_t i = 0; i < grad_output.shape(0); ++i) {
      const ConstRow g = row(grad_output, i);
      const ConstRow normalized = row(pass.normalized, i);
      //! [layer_norm_row_backward]
      for (std::size_t j = 0; j < width; ++j) grad_a[j] += g[j] * normalized[j];
      for (std::size_t j = 0; j < width; ++j) grad_b[j] += g[j];
      for (std::size_t j = 0; j < width; ++j) s[j] = g[j] * a[j];  // in the normalised numbers
      const Real mean = sum_of(s) / static_cast<Real>(width);
      const Real along = dot(s, normalized) / static_cast<Real>(width);
      const Real inverse = pass.inverse_deviation(i);
      const Row grad_i = row(grad_x, i);
      for (std::size_t j = 0; j < width; ++j) {
        grad_i[j] += inverse * (s[j] - mean - along * normalized[j]);
      }
      //! [layer_norm_row_backward]
    }
  }
  //! [layer_norm_backward]
};
//! [layer_norm]
