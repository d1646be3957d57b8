#pragma once
/// @file
/// @brief GPT-2: embeddings, blocks, a last norm, and a head that is the token embedding again.

#include <fmt/core.h>

#include <stdexcept>

#include "block.hpp"
#include "config.hpp"

//! [model_pass]
/// What a model's forward leaves for its backward: B sequences of T tokens, n = B · T rows.
struct ModelPass {
  std::size_t T;
  Matrix mask;      ///< (T, T)
  Matrix embedded;  ///< (n, width)  token embedding plus position embedding
  Matrix kept;      ///< (n, width)  what dropout leaves of it
  Matrix factors;   ///< (n, width)  what dropout multiplied it by
  std::vector<BlockPass> blocks;
  LayerNormPass norm;
  Matrix logits;     ///< (n, symbols)
  Matrix grad;       ///< (n, width)  work space of the backward pass
  Matrix grad_norm;  ///< (n, width)  the same

  /// Room for B sequences of so many tokens.
  ModelPass(const Config& config, std::size_t B, std::size_t tokens)
      : T(tokens),
        mask(causal_mask(T)),
        embedded(Matrix::shape_type{B * T, config.width}),
        norm(B * T, config.width),
        logits(Matrix::shape_type{B * T, config.symbols}),
        grad(Matrix::shape_type{B * T, config.width}),
        grad_norm(Matrix::shape_type{B * T, config.width}) {
    for (std::size_t layer = 0; layer < config.layers; ++layer) {
      blocks.emplace_back(B, T, config.width, config.heads);
    }
  }

  /// The residual stream after the last block.
  const Matrix& stream() const { return blocks.empty() ? embedded : blocks.back().output; }

  /// Makes now what the first forward with dropout would make.
  void make_room_for_dropout() {
    for (Matrix* m : {&kept, &factors}) m->resize(embedded.shape());
    for (BlockPass& block : blocks) {
      for (Matrix* m : {&block.kept_1, &block.kept_2, &block.factors_1, &block.factors_2}) {
        m->resize(embedded.shape());
      }
      for (Pass& head : block.attention.heads) {
        for (Matrix* m : {&head.kept, &head.factors}) m->resize({T, T});
      }
    }
  }
};
//! [model_pass]

/// The memory of a `ModelPass` for B sequences of so many tokens, in bytes. With dropout in the
/// configuration it is that of a pass that drops.
inline double pass_bytes(const Config& config, std::size_t B, std::size_t tokens) {
  const auto T = static_cast<double>(tokens);
  const auto n = static_cast<double>(B) * T;
  const auto width = static_cast<double>(config.width);
  const double dropout = config.dropout > 0 ? 1 : 0;
  const double scores = static_cast<double>(config.heads) * T * (1 + 2 * dropout);
  const double layer = n * (width * (33 + 4 * dropout) + scores + 2) + T * T;
  const double rest =
      n * (width * (5 + 2 * dropout) + static_cast<double>(config.symbols) + 1) + T * T;
  return static_cast<double>(sizeof(Real)) * (static_cast<double>(config.layers) * layer + rest) +
         static_cast<double>(config.layers) * sizeof(BlockPass);
}

/// The symbols of a batch, as their numbers: the sequences one after the other, T for each.
using Tokens = std::span<const int>;

//! [parameter]
/// One of a model's tensors, where it lies.
struct Parameter {
  std::string name;  ///< such as "blocks.0.attention.W_query"
  std::vector<std::size_t> shape;
  Row numbers;

  /// Matrices decay; gains and biases do not.
  bool is_matrix() const { return shape.size() == 2; }
};
//! [parameter]

//! [model]
/// "Language Models are Unsupervised Multitask Learners", Radford and others, 2019. The same type
/// holds a model's weights, their gradients, and what the optimizer remembers of them.
struct GPT2 {
  Config config;
  Matrix token_embedding;     ///< (symbols, width)
  Matrix position_embedding;  ///< (context, width)
  std::vector<Block> blocks;
  LayerNorm norm;
  Matrix head;  ///< (symbols, width); empty: the token embedding is the head as well

  /// Zeros, but for the norms' gains of 1.
  explicit GPT2(const Config& size)
      : config(size),
        token_embedding(Matrix::shape_type{size.symbols, size.width}, 0),
        position_embedding(Matrix::shape_type{size.context, size.width}, 0),
        norm(size.width) {
    blocks.reserve(size.layers);
    for (std::size_t i = 0; i < size.layers; ++i) blocks.emplace_back(size.width, size.heads);
  }

  //! [draw]
  /// GPT-2's beginning: every matrix is noise with deviation 0.02, and with 0.02 / √(2 layers) if
  /// it writes into the residual stream, so that the stream grows no wider with the number of
  /// blocks. (OpenAI's code begins the positions with 0.01; Hugging Face's with 0.02.)
  GPT2(const Config& size, Generator& generator) : GPT2(size) {
    const Real deviation = static_cast<Real>(0.02);
    const Real residual = deviation / std::sqrt(static_cast<Real>(2 * size.layers));
    const auto draw = [&](Matrix& W, Real spread) {
      for (Real& weight : W) weight = spread * generator.normal();
    };
    draw(token_embedding, deviation);
    draw(position_embedding, deviation);
    for (Block& block : blocks) {
      Attention& attention = block.attention;
      for (Matrix* W : {&attention.W_query, &attention.W_key, &attention.W_value}) {
        draw(*W, deviation);
      }
      draw(attention.W_out, residual);
      draw(block.feed_forward.W_up, deviation);
      draw(block.feed_forward.W_down, residual);
    }
  }
  //! [draw]

  /// All tensors, in an order that depends on the configuration alone.
  std::vector<Parameter> parameters();

  /// What the last norm's output is compared with.
  const Matrix& head_weights() const { return head.size() > 0 ? head : token_embedding; }

  //! [embed]
  /// Row i of pass.embedded, (B · T, width), is the vector of its symbol plus the vector of its
  /// place.
  /// @throws as `forward`
  void embed(ModelPass& pass, Tokens tokens) const {
    require_tokens(pass, tokens);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const ConstRow symbol = row(token_embedding, static_cast<std::size_t>(tokens[i]));
      const ConstRow place = row(position_embedding, i % pass.T);
      const Row x = row(pass.embedded, i);
      for (std::size_t j = 0; j < x.size(); ++j) x[j] = symbol[j] + place[j];
    }
  }
  //! [embed]

  //! [model_forward]
  /// Fills pass.logits, (B · T, symbols): how well each symbol fits after each token.
  /// @param tokens  B · T numbers of symbols
  /// @throws std::invalid_argument when there are not B · T, or T exceeds the context
  /// @throws std::out_of_range when one of them is no symbol
  void forward(ModelPass& pass, Tokens tokens, const Dropout& dropout = {}) const {
    embed(pass, tokens);
    const Matrix* x = &dropout.forward(pass.kept, pass.factors, pass.embedded);
    for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
      blocks[layer].forward(pass.blocks[layer], *x, pass.mask, dropout);
      x = &pass.blocks[layer].output;
    }
    norm.forward(pass.norm, *x);
    matmul_into(pass.logits, pass.norm.output, transposed(head_weights()));
  }
  //! [model_forward]

  //! [model_backward]
  /// @param gradient     the gradients of all weights, added to
  /// @param grad_logits  (B · T, symbols)
  /// @param tokens       those that `forward` had, and the same dropout
  void backward(GPT2& gradient, const Matrix& grad_logits, ModelPass& pass, Tokens tokens,
                const Dropout& dropout = {}) const {
    Matrix& grad_head = head.size() > 0 ? gradient.head : gradient.token_embedding;
    matmul_add(grad_head, transposed(grad_logits), pass.norm.output);
    matmul_into(pass.grad_norm, grad_logits, head_weights());
    pass.grad.fill(0);
    norm.backward(pass.grad, gradient.norm, pass.grad_norm, pass.norm);
    for (std::size_t layer = blocks.size(); layer-- > 0;) {
      blocks[layer].backward(pass.grad, gradient.blocks[layer], pass.blocks[layer], dropout);
    }
    dropout.backward(pass.grad, pass.factors, pass.grad);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const ConstRow g = row(pass.grad, i);
      const Row symbol = row(gradient.token_embedding, static_cast<std::size_t>(tokens[i]));
      const Row place = row(gradient.position_embedding, i % pass.T);
      for (std::size_t j = 0; j < g.size(); ++j) {
        symbol[j] += g[j];
        place[j] += g[j];
      }
    }
  }
  //! [model_backward]

 private:
  void require_tokens(const ModelPass& pass, Tokens tokens) const {
    if (tokens.size() != pass.embedded.shape(0)) {
      throw std::invalid_argument(fmt::format("forward: {} tokens for a pass of {}", tokens.size(),
                                              pass.embedded.shape(0)));
    }
    if (pass.T > config.context) {
      throw std::invalid_argument(fmt::format(
          "forward: sequences of {} tokens, but the context is {}", pass.T, config.context));
    }
    for (const int token : tokens) {
      if (token < 0 || static_cast<std::size_t>(token) >= config.symbols) {
        throw std::out_of_range(fmt::format("forward: there is no symbol {}; there are {}, from 0",
                                            token, config.symbols));
      }
    }
  }
};
//! [model]

//! [parameters]
inline std::vector<Parameter> GPT2::parameters() {
  std::vector<Parameter> all;
  const auto matrix = [&](const std::string& name, Matrix& m) {
    all.push_back({name, {m.shape(0), m.shape(1)}, numbers(m)});
  };
  const auto vector = [&](const std::string& name, Vector& v) {
    all.push_back({name, {v.size()}, row(v)});
  };
  matrix("token_embedding", token_embedding);
  matrix("position_embedding", position_embedding);
  for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
    Block& block = blocks[layer];
    const std::string at = "blocks." + std::to_string(layer) + ".";
    vector(at + "norm_1.gain", block.norm_1.gain);
    vector(at + "norm_1.bias", block.norm_1.bias);
    matrix(at + "attention.W_query", block.attention.W_query);
    vector(at + "attention.b_query", block.attention.b_query);
    matrix(at + "attention.W_key", block.attention.W_key);
    vector(at + "attention.b_key", block.attention.b_key);
    matrix(at + "attention.W_value", block.attention.W_value);
    vector(at + "attention.b_value", block.attention.b_value);
    matrix(at + "attention.W_out", block.attention.W_out);
    vector(at + "attention.b_out", block.attention.b_out);
    vector(at + "norm_2.gain", block.norm_2.gain);
    vector(at + "norm_2.bias", block.norm_2.bias);
    matrix(at + "feed_forward.W_up", block.feed_forward.W_up);
    vector(at + "feed_forward.b_up", block.feed_forward.b_up);
    matrix(at + "feed_forward.W_down", block.feed_forward.W_down);
    vector(at + "feed_forward.b_down", block.feed_forward.b_down);
  }
  vector("norm.gain", norm.gain);
  vector("norm.bias", norm.bias);
  if (head.size() > 0) matrix("head", head);
  return all;
}
//! [parameters]

/// The memory of a model, in bytes: its numbers, and what each tensor takes besides.
/// @throws as `parameter_count`
inline double model_bytes(const Config& config) {
  constexpr double tensors = 16;   // of a block
  constexpr double besides = 384;  // a tensor's name and shape, and what allocating adds
  return static_cast<double>(sizeof(Real)) * static_cast<double>(parameter_count(config)) +
         static_cast<double>(config.layers) * (sizeof(Block) + tensors * besides);
}

/// A model of the same shape, all of whose numbers are 0: room for gradients.
inline GPT2 zeros_like(const GPT2& model) {
  GPT2 zeros = model;
  for (const Parameter& parameter : zeros.parameters()) {
    std::fill(parameter.numbers.begin(), parameter.numbers.end(), Real{0});
  }
  return zeros;
}
