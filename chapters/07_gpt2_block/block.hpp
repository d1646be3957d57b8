#pragma once
/// @file
/// @brief The block of GPT-2: attention and a feed-forward network, each behind a norm and beside a
/// residual.

#include "attention.hpp"
#include "feed_forward.hpp"
#include "layer_norm.hpp"

//! [block_pass]
/// What a block's forward leaves for its backward. n = B · T rows, the sequences one below the
/// other.
struct BlockPass {
  LayerNormPass norm_1;
  HeadsPass attention;
  Matrix middle;  ///< (n, width)  the residual stream between the two halves
  LayerNormPass norm_2;
  FeedForwardPass feed_forward;
  Matrix output;  ///< (n, width)

  Matrix kept_1, kept_2;        ///< (n, width)  what dropout leaves of the two halves
  Matrix factors_1, factors_2;  ///< (n, width)  what it multiplied them by
  Matrix grad_norm;             ///< (n, width)  the gradient in a norm's output

  /// Room for B sequences of T tokens.
  BlockPass(std::size_t B, std::size_t T, std::size_t width, std::size_t heads)
      : norm_1(B * T, width),
        attention(B, T, width, heads),
        middle(Matrix::shape_type{B * T, width}),
        norm_2(B * T, width),
        feed_forward(B * T, width),
        output(Matrix::shape_type{B * T, width}),
        grad_norm(Matrix::shape_type{B * T, width}) {}
};
//! [block_pass]

//! [add]
/// sum = a + b; all have one shape, and may be the same.
inline void add_into(Matrix& sum, const Matrix& a, const Matrix& b) {
  for (std::size_t i = 0; i < sum.shape(0); ++i) {
    const Row s = row(sum, i);
    const ConstRow a_i = row(a, i);
    const ConstRow b_i = row(b, i);
    for (std::size_t j = 0; j < s.size(); ++j) s[j] = a_i[j] + b_i[j];
  }
}
//! [add]

//! [block]
/// One of GPT-2's layers: x + attention(norm(x)), and of that again x + feed_forward(norm(x)).
struct Block {
  LayerNorm norm_1;
  Attention attention;
  LayerNorm norm_2;
  FeedForward feed_forward;

  /// Gains 1, all else zeros; `GPT2` draws the weights.
  /// @throws std::invalid_argument when the width cannot be divided evenly among the heads
  Block(std::size_t width, std::size_t heads)
      : norm_1(width), attention(width, heads), norm_2(width), feed_forward(width) {}

  //! [block_forward]
  /// Fills the pass.
  /// @param x     (B · T, width)
  /// @param mask  (T, T)
  /// @throws std::invalid_argument when the mask has another shape
  void forward(BlockPass& pass, const Matrix& x, const Matrix& mask,
               const Dropout& dropout = {}) const {
    norm_1.forward(pass.norm_1, x);
    attention.forward(pass.attention, pass.norm_1.output, mask, dropout);
    add_into(pass.middle, x, dropout.forward(pass.kept_1, pass.factors_1, pass.attention.output));

    norm_2.forward(pass.norm_2, pass.middle);
    feed_forward.forward(pass.feed_forward, pass.norm_2.output);
    add_into(pass.output, pass.middle,
             dropout.forward(pass.kept_2, pass.factors_2, pass.feed_forward.output));
  }
  //! [block_forward]

  //! [block_backward]
  /// The gradient goes back both ways at each residual: unchanged, and through the half beside it.
  /// @param grad      (B · T, width)  the gradient in the output; becomes that in x
  /// @param gradient  the gradients of the weights, added to
  /// @param dropout   the one that `forward` had
  void backward(Matrix& grad, Block& gradient, BlockPass& pass, const Dropout& dropout = {}) const {
    const Matrix& grad_2 = dropout.backward(pass.kept_2, pass.factors_2, grad);
    feed_forward.backward(pass.grad_norm, gradient.feed_forward, grad_2, pass.feed_forward,
                          pass.norm_2.output);
    norm_2.backward(grad, gradient.norm_2, pass.grad_norm, pass.norm_2);

    const Matrix& grad_1 = dropout.backward(pass.kept_1, pass.factors_1, grad);
    attention.backward(pass.grad_norm, gradient.attention, grad_1, pass.attention,
                       pass.norm_1.output, dropout);
    norm_1.backward(grad, gradient.norm_1, pass.grad_norm, pass.norm_1);
  }
  //! [block_backward]
};
//! [block]
