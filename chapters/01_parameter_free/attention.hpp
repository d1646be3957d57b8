#pragma once
/// @file
/// @brief Attention without parameters: the dot products of all pairs of tokens, their softmax, and
/// the weighted sums of the tokens.

//! [includes]
#include "common/tensor.hpp"
//! [includes]

//! [trace]
/// Every tensor of one forward pass, in the order in which they are computed.
struct Trace {
  Matrix scores;   ///< (T, T)     the dot product of every token with every token
  Matrix weights;  ///< (T, T)     softmax of each row
  Matrix context;  ///< (T, d_in)  for each token, a weighted sum of all tokens
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
/// Self-attention: every token attends to every token.
/// @param X  (T, d_in)  one token a row
/// @throws std::invalid_argument when an entry of X is not finite
inline Trace attend(const Matrix& X) {
  require_finite(X, "X");
  Trace trace;
  //! [scores]
  trace.scores = matmul(X, xt::transpose(X));  // (T, T)
  //! [scores]
  //! [weights]
  trace.weights = softmax(trace.scores);  // (T, T)
  //! [weights]
  //! [context]
  trace.context = matmul(trace.weights, X);  // (T, d_in)
  //! [context]
  return trace;
}
//! [attend]
