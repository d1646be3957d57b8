#pragma once
/// @file
/// @brief The mechanism of this chapter: the file to read, to diff and to blank out.

//! [includes]
#include "common/random.hpp"
#include "common/tensor.hpp"
//! [includes]

//! [pass]
/// Every tensor of one pass, in the order in which they are computed.
struct Pass {
  Matrix queries;  ///< (T, d_k)    what each token looks for
  Matrix keys;     ///< (T, d_k)    what each token is found by
  Matrix values;   ///< (T, d_out)  what each token hands over
  Matrix scores;   ///< (T, T)      every query's dot product with every key
  Matrix weights;  ///< (T, T)      softmax of each row
  Matrix context;  ///< (T, d_out)  each token as a blend of all values
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
/// Lets every query read every key, and blends the values by how well they match.
/// @param queries  (T, d_k)
/// @param keys     (T, d_k)
/// @param values   (T, d_out)
/// @throws std::invalid_argument when the shapes do not fit together
inline Pass attend(const Matrix& queries, const Matrix& keys, const Matrix& values) {
  Pass pass;
  pass.queries = queries;
  pass.keys = keys;
  pass.values = values;
  //! [scores]
  pass.scores = matmul(queries, xt::transpose(keys));  // (T, T)
  //! [scores]
  //! [weights]
  pass.weights = softmax(pass.scores);  // (T, T)
  //! [weights]
  //! [context]
  pass.context = matmul(pass.weights, values);  // (T, d_out)
  //! [context]
  return pass;
}
//! [attend]

//! [attention]
/// Attention with weights to train: three projections of the input, and `attend` between them.
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
  /// @throws std::invalid_argument when a number of X is not finite, or X is not d_in wide
  Pass forward(const Matrix& X) const {
    require_finite(X, "X");
    return attend(matmul(X, W_query), matmul(X, W_key), matmul(X, W_value));
  }
  //! [forward]
};
//! [attention]
