#pragma once
/// @file
/// @brief Multi-head attention: several heads side by side, and an output projection that mixes
/// them.

//! [includes]
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "common/random.hpp"
#include "common/tensor.hpp"
//! [includes]

//! [trace]
/// Every tensor of one head's forward pass, in the order in which they are computed.
struct Trace {
  Matrix queries;  ///< (T_q, d_k)    one for each token of the query sequence
  Matrix keys;     ///< (T_k, d_k)    one for each token of the memory
  Matrix values;   ///< (T_k, d_out)  one for each token of the memory
  Matrix scores;   ///< (T_q, T_k)    the dot product of every query with every key
  Matrix scaled;   ///< (T_q, T_k)    the scores over √d_k
  Matrix masked;   ///< (T_q, T_k)    the scaled scores plus the mask
  Matrix weights;  ///< (T_q, T_k)    softmax of each row
  /// (T_q, T_k)  some of the weights dropped; at inference the same as weights
  Matrix weights_after_dropout;
  Matrix context;  ///< (T_q, d_out)  for each query, a weighted sum of the values
};
//! [trace]

//! [heads]
/// The traces of all heads, and what is made of them.
struct MultiHeadTrace {
  std::vector<Trace> heads;  ///< n_heads traces, each of one head's columns
  Matrix context;            ///< (T_q, d_out)  the heads' contexts, side by side
  Matrix output;             ///< (T_q, d_out)  context W_out: every column mixes all heads
};
//! [heads]

//! [columns]
/// The columns that belong to one head.
/// @param m  (T, n_heads · width)
/// @return   (T, width)
/// @throws std::invalid_argument when the columns cannot be divided evenly among the heads
inline Matrix head_columns(const Matrix& m, std::size_t head, std::size_t n_heads) {
  require_divisible(m.shape(1), "columns", n_heads, "heads");
  const std::size_t width = m.shape(1) / n_heads;
  return xt::view(m, xt::all(), xt::range(head * width, (head + 1) * width));
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

//! [padding]
/// The padding mask: no query attends to tokens that only fill up a sequence.
/// @param T_q      the number of queries
/// @param present  for each of the T_k keys, whether it belongs to a real token
/// @return (T_q, T_k)  0 in the columns of real tokens, −∞ in those of padding
inline Matrix padding_mask(std::size_t T_q, const std::vector<bool>& present) {
  Matrix mask = matrix(T_q, present.size());
  for (std::size_t i = 0; i < T_q; ++i) {
    for (std::size_t j = 0; j < present.size(); ++j) {
      if (!present[j]) mask(i, j) = -std::numeric_limits<Real>::infinity();
    }
  }
  return mask;
}
//! [padding]

//! [softmax]
/// Turns each row of scores into probabilities: none is negative, and they sum to 1. A score of −∞
/// gets exactly 0; a fully masked row, in which every score is −∞, gets zeros.
/// @param scores  (T_q, T_k)
/// @return        (T_q, T_k)
inline Matrix softmax(const Matrix& scores) {
  Matrix weights(scores.shape());
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const Vector row = xt::view(scores, i, xt::all());
    const Real max = std::max(max_of(row), std::numeric_limits<Real>::lowest());
    const Vector exponentials = xt::exp(row - max);
    // The largest exponential is e^0, so the sum is at least 1; only in a fully masked row it's 0.
    xt::view(weights, i, xt::all()) = exponentials / std::max(sum_of(exponentials), Real{1});
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
/// Compares every query with every key, and sums the values, weighted by how well they match.
/// @param queries  (T_q, d_k)
/// @param keys     (T_k, d_k)
/// @param values   (T_k, d_out)
/// @param mask      (T_q, T_k)  0 where row i attends to column j, −∞ where it doesn't
/// @param training  absent at inference, when nothing is dropped
/// @throws std::invalid_argument when the shapes don't fit together
inline Trace attend(Matrix queries, Matrix keys, Matrix values, const Matrix& mask,
                    const std::optional<Training>& training = {}) {
  Trace trace;
  //! [scores]
  trace.scores = matmul(queries, xt::transpose(keys));  // (T_q, T_k)
  //! [scores]
  //! [scaled]
  trace.scaled = trace.scores / std::sqrt(static_cast<Real>(keys.shape(1)));  // (T_q, T_k)
  //! [scaled]
  //! [masked]
  require_same_shape(mask, "the mask", trace.scaled, "the matrix of scores");
  trace.masked = trace.scaled + mask;  // (T_q, T_k)
  //! [masked]
  //! [weights]
  trace.weights = softmax(trace.masked);  // (T_q, T_k)
  //! [weights]
  //! [after_dropout]
  trace.weights_after_dropout = trace.weights;  // (T_q, T_k)
  if (training) {
    trace.weights_after_dropout = dropout(trace.weights, training->dropout, training->generator);
  }
  //! [after_dropout]
  //! [context]
  trace.context = matmul(trace.weights_after_dropout, values);  // (T_q, d_out)
  //! [context]
  trace.queries = std::move(queries);
  trace.keys = std::move(keys);
  trace.values = std::move(values);
  return trace;
}
//! [attend]

//! [attention]
/// Multi-head attention: each head attends to the whole input through its own columns of the
/// projections, and W_out mixes the heads.
struct Attention {
  Matrix W_query;  ///< (d_in, n_heads · head_dim)
  Matrix W_key;    ///< (d_in, n_heads · head_dim)
  Matrix W_value;  ///< (d_in, d_out)
  Matrix W_out;    ///< (d_out, d_out)
  std::size_t n_heads;

  /// Draws the four as PyTorch draws four `nn.Linear` without bias; head_dim is d_out / n_heads.
  /// @throws std::invalid_argument when d_out cannot be divided evenly among the heads
  Attention(std::size_t d_in, std::size_t d_out, std::size_t heads, Generator& generator)
      : W_query(linear_weights(d_in, d_out, generator)),
        W_key(linear_weights(d_in, d_out, generator)),
        W_value(linear_weights(d_in, d_out, generator)),
        W_out(linear_weights(d_out, d_out, generator)),
        n_heads(heads) {
    require_divisible(d_out, "output columns", n_heads, "heads");
  }

  //! [forward]
  /// Self-attention passes the same sequence twice.
  /// @param queries_from  (T_q, d_in)  the sequence that the queries come from, one token a row
  /// @param memory        (T_k, d_in)  for keys and values; its d_in may differ
  /// @param mask          (T_q, T_k)   the same for every head
  /// @throws std::invalid_argument when an entry is not finite, or a sequence isn't d_in wide
  MultiHeadTrace forward(const Matrix& queries_from, const Matrix& memory, const Matrix& mask,
                         const std::optional<Training>& training = {}) const {
    require_finite(queries_from, "queries_from");
    require_finite(memory, "memory");
    const Matrix queries = matmul(queries_from, W_query);  // (T_q, n_heads · head_dim)
    const Matrix keys = matmul(memory, W_key);             // (T_k, n_heads · head_dim)
    const Matrix values = matmul(memory, W_value);         // (T_k, d_out)
    require_divisible(values.shape(1), "columns", n_heads, "heads");
    MultiHeadTrace trace;
    trace.context = matrix(queries_from.shape(0), values.shape(1));
    for (std::size_t h = 0; h < n_heads; ++h) {
      trace.heads.push_back(attend(head_columns(queries, h, n_heads),
                                   head_columns(keys, h, n_heads), head_columns(values, h, n_heads),
                                   mask, training));
      const std::size_t width = values.shape(1) / n_heads;
      xt::view(trace.context, xt::all(), xt::range(h * width, (h + 1) * width)) =
          trace.heads[h].context;
    }
    trace.output = matmul(trace.context, W_out);  // (T_q, d_out)
    return trace;
  }
  //! [forward]
};
//! [attention]
