#pragma once
/// @file
/// @brief The feed-forward network of a block: wide, bent, narrow again; each token for itself.

#include <numbers>

#include "linear.hpp"

//! [gelu]
/// GELU as GPT-2 computes it, with the hyperbolic tangent:
/// GELU(x) = x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))).
struct Gelu {
  static constexpr Real slope = std::numbers::sqrt2_v<Real> * std::numbers::inv_sqrtpi_v<Real>;
  static constexpr Real cubic = static_cast<Real>(0.044715);

  /// @param y        (n, d)  written
  /// @param tangent  (n, d)  written: the tanh of the formula, which `backward` needs again
  static void forward(Matrix& y, Matrix& tangent, const Matrix& x) {
    for (std::size_t i = 0; i < x.shape(0); ++i) {
      const ConstRow x_i = row(x, i);
      const Row t = row(tangent, i);
      const Row y_i = row(y, i);
      //! [gelu_row]
      for (std::size_t j = 0; j < t.size(); ++j) {
        t[j] = slope * (x_i[j] + cubic * x_i[j] * x_i[j] * x_i[j]);
      }
      tanh_into(t, t);
      for (std::size_t j = 0; j < t.size(); ++j) y_i[j] = x_i[j] / 2 * (1 + t[j]);
      //! [gelu_row]
    }
  }

  /// The product rule, and tanh' = 1 - tanh².
  /// @param grad  (n, d)  the gradient in y; becomes the gradient in x
  static void backward(Matrix& grad, const Matrix& tangent, const Matrix& x) {
    for (std::size_t i = 0; i < x.shape(0); ++i) {
      const ConstRow x_i = row(x, i);
      const ConstRow t = row(tangent, i);
      const Row g = row(grad, i);
      for (std::size_t j = 0; j < g.size(); ++j) {
        const Real inner = slope * (1 + 3 * cubic * x_i[j] * x_i[j]);
        g[j] *= (1 + t[j] + x_i[j] * (1 - t[j] * t[j]) * inner) / 2;
      }
    }
  }
};
//! [gelu]

//! [feed_forward_pass]
/// What a feed-forward network's forward leaves for its backward.
struct FeedForwardPass {
  Matrix up;       ///< (n, 4 width)  x W_up + b_up
  Matrix tangent;  ///< (n, 4 width)  the tanh in GELU
  Matrix bent;     ///< (n, 4 width)  GELU(up)
  Matrix output;   ///< (n, width)    bent W_down + b_down
  Matrix grad_up;  ///< (n, 4 width)  work space of the backward pass

  /// Room for n rows.
  FeedForwardPass(std::size_t n, std::size_t width)
      : up(Matrix::shape_type{n, 4 * width}),
        tangent(Matrix::shape_type{n, 4 * width}),
        bent(Matrix::shape_type{n, 4 * width}),
        output(Matrix::shape_type{n, width}),
        grad_up(Matrix::shape_type{n, 4 * width}) {}
};
//! [feed_forward_pass]

//! [feed_forward]
/// Two linear layers with a GELU between them.
struct FeedForward {
  Matrix W_up;    ///< (width, 4 width)
  Vector b_up;    ///< (4 width)
  Matrix W_down;  ///< (4 width, width)
  Vector b_down;  ///< (width)

  /// All zeros; `GPT2` draws them.
  explicit FeedForward(std::size_t width)
      : W_up(Matrix::shape_type{width, 4 * width}, 0),
        b_up(Vector::shape_type{4 * width}, 0),
        W_down(Matrix::shape_type{4 * width, width}, 0),
        b_down(Vector::shape_type{width}, 0) {}

  /// Fills the pass.
  /// @param x  (n, width)
  void forward(FeedForwardPass& pass, const Matrix& x) const {
    linear(pass.up, x, W_up, b_up);
    Gelu::forward(pass.bent, pass.tangent, pass.up);
    linear(pass.output, pass.bent, W_down, b_down);
  }

  /// @param grad_x       (n, width)  written
  /// @param gradient     the gradient of this network's weights, added to
  /// @param grad_output  (n, width)
  void backward(Matrix& grad_x, FeedForward& gradient, const Matrix& grad_output,
                FeedForwardPass& pass, const Matrix& x) const {
    linear_backward(gradient.W_down, gradient.b_down, grad_output, pass.bent);
    matmul_into(pass.grad_up, grad_output, transposed(W_down));
    Gelu::backward(pass.grad_up, pass.tangent, pass.up);
    linear_backward(gradient.W_up, gradient.b_up, pass.grad_up, x);
    matmul_into(grad_x, pass.grad_up, transposed(W_up));
  }
};
//! [feed_forward]
