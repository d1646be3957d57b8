#pragma once
/// @file
/// @brief Causal attention: each token attends to itself and to earlier ones. And dropout on the
/// attention weights while training.

//! [includes]
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "common/random.hpp"
#include "common/tensor.hpp"
//! [includes]

//! [trace]
/// Every tensor of one forward pass, in the order in which they are computed.
struct Trace {
  Matrix queries;  ///< (T, d_k)    what each token looks for
  Matrix keys;     ///< (T, d_k)    what each token is matched by
  Matrix values;   ///< (T, d_out)  what each token contributes
  Matrix scores;   ///< (T, T)      the dot product of every query with every key
  Matrix scaled;   ///< (T, T)      the scores over √d_k
  Matrix masked;   ///< (T, T)      the scaled scores plus the mask
  Matrix weights;  ///< (T, T)      softmax of each row
  /// (T, T)  some of the weights dropped; at inference the same as weights
  Matrix weights_after_dropout;
  Matrix context;  ///< (T, d_out)  for each token, a weighted sum of the values
};
//! [trace]

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
/// Turns each row of scores into probabilities: none is negative, and they sum to 1.
/// @param scores  (T, T)
/// @return        (T, T)
inline Matrix softmax(const Matrix& scores) {
  Matrix weights(scores.shape());
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const Vector row = xt::view(scores, i, xt::all());
    const Vector exponentials = xt::exp(row - max_of(row));
    xt::view(weights, i, xt::all()) = exponentials / sum_of(exponentials);
  }
  return weights;
}
//! [softmax]

//! [dropout]
/// Dropout: sets each weight to 0 with probability p, and multiplies the others by 1 / (1 - p).
/// @throws std::invalid_argument when p is not between 0 and 1
inline Matrix dropout(Matrix weights, Real p, Generator& generator) {
  require_between(p, "the dropout probability", 0, 1);
  for (Real& weight : weights) weight = generator.uniform(0, 1) < p ? 0 : weight / (1 - p);
  return weights;
}

/// What a forward pass needs while the model is being trained.
struct Training {
  Real dropout;          ///< the probability that a weight is dropped
  Generator& generator;  ///< decides which ones
};
//! [dropout]

//! [attend]
//! [arguments]
/// Compares every query with every key, and sums the values, weighted by how well they match.
/// @param queries  (T, d_k)
/// @param keys     (T, d_k)
/// @param values   (T, d_out)
/// @param mask      (T, T)  0 where row i attends to column j, −∞ where it doesn't
/// @param training  absent at inference, when nothing is dropped
/// @throws std::invalid_argument when the shapes don't fit together
inline Trace attend(Matrix queries, Matrix keys, Matrix values, const Matrix& mask,
                    const std::optional<Training>& training = {}) {
  //! [arguments]
  Trace trace;
  //! [scores]
  trace.scores = matmul(queries, xt::transpose(keys));  // (T, T)
  //! [scores]
  //! [scaled]
  trace.scaled = trace.scores / std::sqrt(static_cast<Real>(keys.shape(1)));  // (T, T)
  //! [scaled]
  //! [masked]
  require_same_shape(mask, "the mask", trace.scaled, "the matrix of scores");
  trace.masked = trace.scaled + mask;  // (T, T)
  //! [masked]
  //! [weights]
  trace.weights = softmax(trace.masked);  // (T, T)
  //! [weights]
  //! [after_dropout]
  trace.weights_after_dropout = trace.weights;  // (T, T)
  if (training) {
    trace.weights_after_dropout = dropout(trace.weights, training->dropout, training->generator);
  }
  //! [after_dropout]
  //! [context]
  trace.context = matmul(trace.weights_after_dropout, values);  // (T, d_out)
  //! [context]
  trace.queries = std::move(queries);
  trace.keys = std::move(keys);
  trace.values = std::move(values);
  return trace;
}
//! [attend]

//! [attention]
/// Self-attention with trainable weights: three projections of the input, and `attend`.
struct Attention {
  Matrix W_query;  ///< (d_in, d_k)
  Matrix W_key;    ///< (d_in, d_k)
  Matrix W_value;  ///< (d_in, d_out)

  /// Draws the three as PyTorch draws three `nn.Linear(d_in, d_out, bias=False)`; d_k is d_out.
  Attention(std::size_t d_in, std::size_t d_out, Generator& generator)
      : W_query(linear_weights(d_in, d_out, generator)),
        W_key(linear_weights(d_in, d_out, generator)),
        W_value(linear_weights(d_in, d_out, generator)) {}

  //! [forward]
  /// @param X     (T, d_in)  one token a row
  /// @param mask  (T, T)     for example `causal_mask(T)`; all zeros: no mask
  /// @throws std::invalid_argument when an entry of X is not finite, or X isn't d_in wide
  Trace forward(const Matrix& X, const Matrix& mask,
                const std::optional<Training>& training = {}) const {
    require_finite(X, "X");
    return attend(matmul(X, W_query), matmul(X, W_key), matmul(X, W_value), mask, training);
  }
  //! [forward]
};
//! [attention]
