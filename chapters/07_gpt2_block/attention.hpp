#pragma once
/// @file
/// @brief The mechanism of this chapter: the file to read, to diff and to blank out.

//! [includes]
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "common/random.hpp"
#include "linear.hpp"
//! [includes]

//! [pass]
/// What one head's pass over one sequence leaves for its backward.
struct Pass {
  Matrix weights;  ///< (T, T)  softmax of each row; before it, in the same place, the scores
  Matrix kept;     ///< (T, T)  the weights that dropout leaves, while it is on
  Matrix factors;  ///< (T, T)  what dropout multiplied them by
};
//! [pass]

//! [heads]
/// The passes of all heads over a batch of B sequences, and what is made of them. Each matrix has
/// the sequences one below the other, T rows for each.
struct HeadsPass {
  std::size_t T;
  Matrix queries;           ///< (B · T, width)
  Matrix keys;              ///< (B · T, width)
  Matrix values;            ///< (B · T, width)
  std::vector<Pass> heads;  ///< B · n_heads passes: the heads of the first sequence, of the next, …
  Matrix context;           ///< (B · T, width)  the contexts of all heads, side by side
  Matrix output;            ///< (B · T, width)  context W_out + b_out

  /// The same for their gradients, which `backward` writes.
  Matrix grad_queries, grad_keys, grad_values, grad_context, grad_scores;

  /// Room for B sequences of so many tokens.
  HeadsPass(std::size_t B, std::size_t tokens, std::size_t width, std::size_t n_heads)
      : T(tokens), heads(B * n_heads) {
    for (Matrix* m : {&queries, &keys, &values, &context, &output, &grad_queries, &grad_keys,
                      &grad_values, &grad_context}) {
      m->resize({B * T, width});
    }
    for (Pass& head : heads) head.weights.resize({T, T});
    grad_scores.resize({T, T});
  }
};
//! [heads]

//! [columns]
/// One head's columns of one sequence's rows, where they lie.
/// @param m  (B · T, n_heads · head_dim)
/// @return   (T, head_dim)
/// @throws std::invalid_argument when the columns cannot be divided evenly among the heads
inline MatrixSpan head_part(Matrix& m, std::size_t sequence, std::size_t T, std::size_t head,
                            std::size_t n_heads) {
  require_divisible(m.shape(1), "columns", n_heads, "heads");
  const std::size_t head_dim = m.shape(1) / n_heads;
  return part(m, sequence * T, T, head * head_dim, head_dim);
}
//! [columns]

//! [mask]
/// The causal mask: a token attends to itself and to earlier tokens.
/// @return (T, T)  0 where row i attends to column j, −∞ where j > i
inline Matrix causal_mask(std::size_t T) {
  Matrix mask = matrix(T, T);
  for (std::size_t i = 0; i < T; ++i) {
    xt::view(mask, i, xt::range(i + 1, T)) = -std::numeric_limits<Real>::infinity();
  }
  return mask;
}
//! [mask]

//! [softmax]
/// Turns a row of scores into shares, in place: positive, and 1 in sum. A score of −∞ gets 0; a
/// row that has no other scores gets zeros alone.
inline void softmax(Row scores) {
  const Real max = std::max(max_of(scores), std::numeric_limits<Real>::lowest());
  for (Real& score : scores) score -= max;
  exp_into(scores, scores);
  // The largest exponential is e^0, so the sum is at least 1; only in a fully masked row it's 0.
  const Real total = std::max(sum_of(scores), Real{1});
  for (Real& weight : scores) weight /= total;
}
//! [softmax]

//! [softmax_backward]
/// The gradient in a row of scores from that in its weights: a score pulls at its own weight, and
/// at all others the other way. w ⊙ (g − g · w).
/// @param grad     the gradient in the weights; becomes the gradient in the scores
/// @param weights  what `softmax` made of the scores
inline void softmax_backward(Row grad, ConstRow weights) {
  const Real shared = dot(grad, weights);
  for (std::size_t j = 0; j < grad.size(); ++j) grad[j] = weights[j] * (grad[j] - shared);
}
//! [softmax_backward]

//! [dropout]
/// Dropout: while training, each number becomes 0 with probability p, and what is left grows by 1 /
/// (1 - p).
struct Dropout {
  Real p = 0;
  Generator* generator = nullptr;  ///< draws what is dropped; none at inference, when nothing is

  /// Whether anything is dropped.
  bool on() const { return generator != nullptr && p > 0; }

  /// @param kept     written if dropout is on: x ⊙ factors
  /// @param factors  written if dropout is on: 0 or 1 / (1 - p), drawn for each number of x
  /// @return kept, or x itself if dropout is off
  /// @throws std::invalid_argument when p is not a probability
  const Matrix& forward(Matrix& kept, Matrix& factors, const Matrix& x) const {
    require_between(p, "dropout", 0, 1);
    if (!on()) return x;
    factors.resize(x.shape());
    for (Real& factor : factors) factor = generator->uniform(0, 1) < p ? 0 : 1 / (1 - p);
    return backward(kept, factors, x);
  }

  /// The gradient in x: that in `kept`, multiplied by the same factors.
  /// @param grad_x  written if dropout is on; may be `grad` itself
  /// @return grad_x, or `grad` itself if dropout is off
  const Matrix& backward(Matrix& grad_x, const Matrix& factors, const Matrix& grad) const {
    if (!on()) return grad;
    grad_x.resize(grad.shape());
    std::transform(grad.begin(), grad.end(), factors.begin(), grad_x.begin(), std::multiplies<>());
    return grad_x;
  }
};
//! [dropout]

//! [attend]
/// Lets every query read every key of its sequence, and blends the values by how well they match.
/// @param context  (T, head_dim)  written
/// @param queries  (T, head_dim)
/// @param keys     (T, head_dim)
/// @param values   (T, head_dim)
/// @param mask     (T, T)  0 where row i may read column j, −∞ where it may not
/// @throws std::invalid_argument when the shapes do not fit together
inline void attend(const MatrixSpan& context, Pass& pass, const MatrixView& queries,
                   const MatrixView& keys, const MatrixView& values, const Matrix& mask,
                   const Dropout& dropout) {
  require_same_shape(mask, "the mask", pass.weights, "the matrix of scores");
  //! [scores]
  matmul_into(pass.weights, queries, transposed(keys));  // (T, T)
  //! [scores]
  //! [scaled]
  const Real divisor = std::sqrt(static_cast<Real>(keys.columns));
  //! [scaled]
  for (std::size_t i = 0; i < mask.shape(0); ++i) {
    const Row w = row(pass.weights, i);
    const ConstRow m = row(mask, i);
    //! [masked]
    for (std::size_t j = 0; j < w.size(); ++j) w[j] = w[j] / divisor + m[j];
    //! [masked]
    //! [weights]
    softmax(w);
    //! [weights]
  }
  //! [kept]
  const Matrix& kept = dropout.forward(pass.kept, pass.factors, pass.weights);  // (T, T)
  //! [kept]
  //! [context]
  matmul_into(context, kept, values);  // (T, head_dim)
  //! [context]
}
//! [attend]

//! [attend_backward]
/// The gradients in queries, keys and values, all (T, head_dim) and written, from that in the
/// context.
/// @param grad_scores  (T, T)  work space
inline void attend_backward(const MatrixSpan& grad_queries, const MatrixSpan& grad_keys,
                            const MatrixSpan& grad_values, Matrix& grad_scores,
                            const MatrixView& grad_context, const Pass& pass,
                            const MatrixView& queries, const MatrixView& keys,
                            const MatrixView& values, const Dropout& dropout) {
  const Matrix& kept = dropout.on() ? pass.kept : pass.weights;
  matmul_into(grad_values, transposed(kept), grad_context);
  matmul_into(grad_scores, grad_context, transposed(values));  // in the weights kept, (T, T)
  dropout.backward(grad_scores, pass.factors, grad_scores);    // in all weights
  const Real divisor = std::sqrt(static_cast<Real>(keys.columns));
  for (std::size_t i = 0; i < grad_scores.shape(0); ++i) {
    const Row g = row(grad_scores, i);
    softmax_backward(g, row(pass.weights, i));  // in the scaled scores; the mask is a constant
    for (Real& g_j : g) g_j /= divisor;         // in the scores
  }
  matmul_into(grad_queries, grad_scores, keys);
  matmul_into(grad_keys, transposed(grad_scores), queries);
}
//! [attend_backward]

//! [attention]
/// Multi-head attention: each head attends to the whole input through its own columns of the
/// projections, and W_out mixes the heads.
struct Attention {
  //! [parameters]
  Matrix W_query;  ///< (width, n_heads · head_dim)
  Matrix W_key;    ///< (width, n_heads · head_dim)
  Matrix W_value;  ///< (width, n_heads · head_dim)
  Matrix W_out;    ///< (width, width)
  Vector b_query;  ///< (width)
  Vector b_key;    ///< (width)
  Vector b_value;  ///< (width)
  Vector b_out;    ///< (width)
  std::size_t n_heads;

  /// All zeros; `GPT2` draws them. head_dim is width / n_heads.
  /// @throws std::invalid_argument when the width cannot be divided evenly among the heads
  Attention(std::size_t width, std::size_t heads) : n_heads(heads) {
    require_divisible(width, "columns", n_heads, "heads");
    for (Matrix* W : {&W_query, &W_key, &W_value, &W_out}) *W = xt::zeros<Real>({width, width});
    for (Vector* b : {&b_query, &b_key, &b_value, &b_out}) *b = xt::zeros<Real>({width});
  }
  //! [parameters]

  //! [forward]
  /// Each sequence of the batch asks itself.
  /// @param x     (B · T, width)  the tokens, one a row
  /// @param mask  (T, T)          the same for every head and every sequence
  void forward(HeadsPass& pass, const Matrix& x, const Matrix& mask,
               const Dropout& dropout = {}) const {
    linear(pass.queries, x, W_query, b_query);  // (B · T, n_heads · head_dim)
    linear(pass.keys, x, W_key, b_key);         // (B · T, n_heads · head_dim)
    linear(pass.values, x, W_value, b_value);   // (B · T, n_heads · head_dim)
    for (std::size_t k = 0; k < pass.heads.size(); ++k) {
      const auto part_of = [&](Matrix& m) {
        return head_part(m, k / n_heads, pass.T, k % n_heads, n_heads);
      };
      attend(part_of(pass.context), pass.heads[k], part_of(pass.queries), part_of(pass.keys),
             part_of(pass.values), mask, dropout);
    }
    linear(pass.output, pass.context, W_out, b_out);  // (B · T, width)
  }
  //! [forward]

  //! [backward]
  /// @param grad_x       (B · T, width)  written
  /// @param gradient     the gradients of the weights, added to
  /// @param grad_output  (B · T, width)
  void backward(Matrix& grad_x, Attention& gradient, const Matrix& grad_output, HeadsPass& pass,
                const Matrix& x, const Dropout& dropout = {}) const {
    linear_backward(gradient.W_out, gradient.b_out, grad_output, pass.context);
    matmul_into(pass.grad_context, grad_output, transposed(W_out));
    for (std::size_t k = 0; k < pass.heads.size(); ++k) {
      const auto part_of = [&](Matrix& m) {
        return head_part(m, k / n_heads, pass.T, k % n_heads, n_heads);
      };
      attend_backward(part_of(pass.grad_queries), part_of(pass.grad_keys),
                      part_of(pass.grad_values), pass.grad_scores, part_of(pass.grad_context),
                      pass.heads[k], part_of(pass.queries), part_of(pass.keys),
                      part_of(pass.values), dropout);
    }
    linear_backward(gradient.W_query, gradient.b_query, pass.grad_queries, x);
    linear_backward(gradient.W_key, gradient.b_key, pass.grad_keys, x);
    linear_backward(gradient.W_value, gradient.b_value, pass.grad_values, x);
    // x went three ways, and what comes back on them adds up.
    matmul_into(grad_x, pass.grad_queries, transposed(W_query));
    matmul_add(grad_x, pass.grad_keys, transposed(W_key));
    matmul_add(grad_x, pass.grad_values, transposed(W_value));
  }
  //! [backward]
};
//! [attention]
