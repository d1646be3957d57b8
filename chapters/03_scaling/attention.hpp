#pragma once
/// @file
/// @brief Scaled dot-product attention: the scores are divided by √d_k before softmax.

//! [includes]
#include <cmath>
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
  Matrix weights;  ///< (T, T)      softmax of each row
  Matrix context;  ///< (T, d_out)  for each token, a weighted sum of the values
};
//! [trace]

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

//! [attend]
/// Compares every query with every key, and sums the values, weighted by how well they match.
/// @param queries  (T, d_k)
/// @param keys     (T, d_k)
/// @param values   (T, d_out)
/// @throws std::invalid_argument when the shapes don't fit together
inline Trace attend(Matrix queries, Matrix keys, Matrix values) {
  Trace trace;
  //! [scores]
  trace.scores = matmul(queries, xt::transpose(keys));  // (T, T)
  //! [scores]
  //! [scaled]
  trace.scaled = trace.scores / std::sqrt(static_cast<Real>(keys.shape(1)));  // (T, T)
  //! [scaled]
  //! [weights]
  trace.weights = softmax(trace.scaled);  // (T, T)
  //! [weights]
  //! [context]
  trace.context = matmul(trace.weights, values);  // (T, d_out)
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
  /// @param X  (T, d_in)  one token a row
  /// @throws std::invalid_argument when an entry of X is not finite, or X isn't d_in wide
  Trace forward(const Matrix& X) const {
    require_finite(X, "X");
    return attend(matmul(X, W_query), matmul(X, W_key), matmul(X, W_value));
  }
  //! [forward]
};
//! [attention]
