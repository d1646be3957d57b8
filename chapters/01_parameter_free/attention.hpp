#pragma once
/// @file
/// @brief The mechanism of this chapter: the file to read, to diff and to blank out.

//! [includes]
#include "common/tensor.hpp"
//! [includes]

//! [pass]
/// Every tensor of one pass, in the order in which they are computed.
struct Pass {
  Matrix scores;   ///< (T, T)     the dot product of each token with each
  Matrix weights;  ///< (T, T)     softmax of each row
  Matrix context;  ///< (T, d_in)  each token as a blend of all
};
//! [pass]

//! [softmax]
/// Turns each row of scores into shares: positive, and 1 in sum.
/// @param scores  (T, T)
/// @return        (T, T)
inline Matrix softmax(const Matrix& scores) {
  Matrix weights(scores.shape());
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const Vector row = xt::view(scores, i, xt::all());
    const Vector powers = xt::exp(row - largest_of(row));
    xt::view(weights, i, xt::all()) = powers / sum_of(powers);
  }
  return weights;
}
//! [softmax]

//! [attend]
/// Lets every token read every token.
/// @param X  (T, d_in)  one token a row
/// @throws std::invalid_argument when a number of X is not finite
inline Pass attend(const Matrix& X) {
  require_finite(X, "X");
  Pass pass;
  //! [scores]
  pass.scores = matmul(X, xt::transpose(X));  // (T, T)
  //! [scores]
  //! [weights]
  pass.weights = softmax(pass.scores);  // (T, T)
  //! [weights]
  //! [context]
  pass.context = matmul(pass.weights, X);  // (T, d_in)
  //! [context]
  return pass;
}
//! [attend]
