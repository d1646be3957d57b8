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
  Matrix queries;  ///< (T_q, d_k)    what each asking token looks for
  Matrix keys;     ///< (T_k, d_k)    what each answering token is found by
  Matrix values;   ///< (T_k, d_out)  what each answering token hands over
  Matrix scores;   ///< (T_q, T_k)    every query's dot product with every key
  Matrix scaled;   ///< (T_q, T_k)    the scores over √d_k
  Matrix masked;   ///< (T_q, T_k)    the scaled scores plus the mask
  Matrix weights;  ///< (T_q, T_k)    softmax of each row
  Matrix kept;     ///< (T_q, T_k)    the weights that dropout leaves; all of them at inference
  Matrix context;  ///< (T_q, d_out)  each asking token as a blend of the answers
};
//! [pass]

//! [mask]
/// What each token may read: itself and those before it.
/// @return (T, T)  0 where row i may read column j, −∞ where it may not (j > i)
inline Matrix causal_mask(std::size_t T) {
  Matrix mask(Matrix::shape_type{T, T}, 0);
  for (std::size_t i = 0; i < T; ++i) {
    xt::view(mask, i, xt::range(i + 1, T)) = -std::numeric_limits<Real>::infinity();
  }
  return mask;
}
//! [mask]

//! [padding]
/// Hides tokens that are only there to fill a sequence up.
/// @param T_q      how many tokens ask
/// @param present  for each of the T_k answering tokens whether it is one
/// @return (T_q, T_k)  0 in the columns of tokens that are present, −∞ in the others
inline Matrix padding_mask(std::size_t T_q, const std::vector<bool>& present) {
  Matrix mask(Matrix::shape_type{T_q, present.size()}, 0);
  for (std::size_t i = 0; i < T_q; ++i) {
    for (std::size_t j = 0; j < present.size(); ++j) {
      if (!present[j]) mask(i, j) = -std::numeric_limits<Real>::infinity();
    }
  }
  return mask;
}
//! [padding]

//! [softmax]
/// Turns each row of scores into shares: positive, and 1 in sum. A score of −∞ gets exactly 0; a
/// row that has no other scores gets zeros alone.
/// @param scores  (T_q, T_k)
/// @return        (T_q, T_k)
inline Matrix softmax(const Matrix& scores) {
  Matrix weights(scores.shape());
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const Vector row = xt::view(scores, i, xt::all());
    const Real largest = std::max(largest_of(row), std::numeric_limits<Real>::lowest());
    const Vector powers = xt::exp(row - largest);
    // The largest power is e^0, so the sum is 1 or more, but for a row of −∞ alone: there it is 0.
    xt::view(weights, i, xt::all()) = powers / std::max(sum_of(powers), Real{1});
  }
  return weights;
}
//! [softmax]

//! [dropout]
/// Dropout: while training, each weight becomes 0 with probability p, and what is left grows by 1 /
/// (1 - p).
struct Dropout {
  Real p = 0;
  Generator* generator = nullptr;  ///< draws what is dropped; none at inference, when nothing is

  /// @throws std::invalid_argument when p is not a probability
  Matrix operator()(const Matrix& weights) const {
    require_between(p, "dropout", 0, 1);
    Matrix kept = weights;
    if (generator == nullptr) return kept;
    for (Real& weight : kept) weight = generator->uniform(0, 1) < p ? 0 : weight / (1 - p);
    return kept;
  }
};
//! [dropout]

//! [attend]
/// Lets every query read every key, and blends the values by how well they match.
/// @param queries  (T_q, d_k)
/// @param keys     (T_k, d_k)
/// @param values   (T_k, d_out)
/// @param mask     (T_q, T_k)  0 where row i may read column j, −∞ where it may not
/// @param scale    false: leave the division by √d_k out, as chapter 02 did
/// @param dropout  what to drop of the weights; nothing unless it has a generator
/// @throws std::invalid_argument when the shapes do not fit together
inline Pass attend(const Matrix& queries, const Matrix& keys, const Matrix& values,
                   const Matrix& mask, bool scale = true, const Dropout& dropout = {}) {
  Pass pass;
  pass.queries = queries;
  pass.keys = keys;
  pass.values = values;
  //! [scores]
  pass.scores = matmul(queries, xt::transpose(keys));  // (T_q, T_k)
  //! [scores]
  //! [scaled]
  const Real divisor = scale ? std::sqrt(static_cast<Real>(keys.shape(1))) : Real{1};
  pass.scaled = pass.scores / divisor;  // (T_q, T_k)
  //! [scaled]
  //! [masked]
  require_same_shape(mask, "the mask", pass.scaled, "the matrix of scores");
  pass.masked = pass.scaled + mask;  // (T_q, T_k)
  //! [masked]
  //! [weights]
  pass.weights = softmax(pass.masked);  // (T_q, T_k)
  //! [weights]
  //! [kept]
  pass.kept = dropout(pass.weights);  // (T_q, T_k)
  //! [kept]
  //! [context]
  pass.context = matmul(pass.kept, values);  // (T_q, d_out)
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

  /// Whether the scores are divided by √d_k; without it this is chapter 02.
  bool scale = true;

  /// Draws the three as PyTorch draws three `nn.Linear(d_in, d_out, bias=False)`; d_k is d_out.
  Attention(std::size_t d_in, std::size_t d_out, Generator& generator)
      : W_query(linear_weights(d_in, d_out, generator)),
        W_key(linear_weights(d_in, d_out, generator)),
        W_value(linear_weights(d_in, d_out, generator)) {}

  //! [forward]
  /// Self-attention is the case in which a sequence asks itself.
  /// @param asking     (T_q, d_in)  the tokens that read, one a row
  /// @param answering  (T_k, d_in)  the tokens that are read; W_key and W_value may have a d_in of
  ///                                their own
  /// @param mask       (T_q, T_k)   zeros: every asking token reads every answering token
  /// @throws std::invalid_argument when a number is not finite, or a sequence is not d_in wide
  Pass forward(const Matrix& asking, const Matrix& answering, const Matrix& mask,
               const Dropout& dropout = {}) const {
    require_finite(asking, "asking");
    require_finite(answering, "answering");
    return attend(matmul(asking, W_query), matmul(answering, W_key), matmul(answering, W_value),
                  mask, scale, dropout);
  }
  //! [forward]
};
//! [attention]
