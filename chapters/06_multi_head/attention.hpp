#pragma once
/// @file
/// @brief The mechanism of this chapter: the file to read, to diff and to blank out.

//! [includes]
#include "common/random.hpp"
#include "common/tensor.hpp"
//! [includes]

//! [pass]
/// Every tensor of one head's pass, in the order in which they are computed.
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

//! [heads]
/// The passes of all heads, and what is made of them.
struct HeadsPass {
  std::vector<Pass> heads;  ///< n_heads passes, each with the columns of one head
  Matrix context;           ///< (T_q, d_out)  the contexts of all heads, side by side
  Matrix output;            ///< (T_q, d_out)  context W_out: every column draws on all heads
};
//! [heads]

//! [columns]
/// The columns of one head.
/// @param m  (T, n_heads · width)
/// @return   (T, width)
/// @throws std::invalid_argument when the columns cannot be shared evenly among the heads
inline Matrix head_columns(const Matrix& m, std::size_t head, std::size_t n_heads) {
  require_divisible(m.shape(1), "columns", n_heads, "heads");
  const std::size_t width = m.shape(1) / n_heads;
  return xt::view(m, xt::all(), xt::range(head * width, (head + 1) * width));
}
//! [columns]

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
/// Attention with several heads: each reads the whole input through columns of its own, and W_out
/// mixes them.
struct Attention {
  Matrix W_query;  ///< (d_in, n_heads · head_dim)
  Matrix W_key;    ///< (d_in, n_heads · head_dim)
  Matrix W_value;  ///< (d_in, d_out)
  Matrix W_out;    ///< (d_out, d_out)
  std::size_t n_heads;

  /// Whether the scores are divided by the square root of d_k, here head_dim.
  bool scale = true;

  /// Draws the four as PyTorch draws four `nn.Linear` without bias; head_dim is d_out / n_heads.
  /// @throws std::invalid_argument when d_out cannot be shared evenly among the heads
  Attention(std::size_t d_in, std::size_t d_out, std::size_t heads, Generator& generator)
      : W_query(linear_weights(d_in, d_out, generator)),
        W_key(linear_weights(d_in, d_out, generator)),
        W_value(linear_weights(d_in, d_out, generator)),
        W_out(linear_weights(d_out, d_out, generator)),
        n_heads(heads) {
    require_divisible(d_out, "output columns", n_heads, "heads");
  }

  //! [forward]
  /// Self-attention is the case in which a sequence asks itself.
  /// @param asking     (T_q, d_in)  the tokens that read, one a row
  /// @param answering  (T_k, d_in)  the tokens that are read; W_key and W_value may have a d_in of
  ///                                their own
  /// @param mask       (T_q, T_k)   the same for every head
  /// @throws std::invalid_argument when a number is not finite, or a sequence is not d_in wide
  HeadsPass forward(const Matrix& asking, const Matrix& answering, const Matrix& mask,
                    const Dropout& dropout = {}) const {
    require_finite(asking, "asking");
    require_finite(answering, "answering");
    const Matrix queries = matmul(asking, W_query);    // (T_q, n_heads · head_dim)
    const Matrix keys = matmul(answering, W_key);      // (T_k, n_heads · head_dim)
    const Matrix values = matmul(answering, W_value);  // (T_k, d_out)
    require_divisible(values.shape(1), "columns", n_heads, "heads");
    HeadsPass pass;
    pass.context = Matrix(Matrix::shape_type{asking.shape(0), values.shape(1)});
    for (std::size_t h = 0; h < n_heads; ++h) {
      pass.heads.push_back(attend(head_columns(queries, h, n_heads), head_columns(keys, h, n_heads),
                                  head_columns(values, h, n_heads), mask, scale, dropout));
      const std::size_t width = values.shape(1) / n_heads;
      xt::view(pass.context, xt::all(), xt::range(h * width, (h + 1) * width)) =
          pass.heads[h].context;
    }
    pass.output = matmul(pass.context, W_out);  // (T_q, d_out)
    return pass;
  }
  //! [forward]
};
//! [attention]
