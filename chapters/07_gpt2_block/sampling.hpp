#pragma once
/// @file
/// @brief How a model writes: one symbol after the other, drawn from what it thinks comes next.

#include <numeric>

#include "model.hpp"

//! [sampling]
/// How bold the model may be.
struct Sampling {
  double temperature =
      0.8;                ///< above 1: more even shares, below: more decided ones; 0: the likeliest
  std::size_t top_k = 0;  ///< draw among the likeliest `top_k` symbols only; 0: among all
};
//! [sampling]

//! [next_shares]
/// How likely each symbol is to be drawn next.
/// @param logits  (symbols)  the last row of a model's
/// @return        (symbols)  1 in sum
/// @throws std::invalid_argument when the temperature is negative or not a number
inline Vector next_shares(ConstRow logits, const Sampling& sampling) {
  require_between(static_cast<Real>(sampling.temperature), "the temperature", 0,
                  std::numeric_limits<Real>::max());
  std::vector<std::size_t> order(logits.size());  // the symbols, the likeliest first
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  std::size_t among = sampling.top_k == 0 ? order.size() : std::min(sampling.top_k, order.size());
  if (sampling.temperature == 0) among = 1;
  Vector shares(Vector::shape_type{logits.size()}, -std::numeric_limits<Real>::infinity());
  for (std::size_t k = 0; k < among; ++k) {
    // The likeliest has 0, whatever the temperature; so nothing overflows when it is tiny.
    const double below =
        static_cast<double>(logits[order[k]]) - static_cast<double>(logits[order[0]]);
    shares(order[k]) = k == 0 ? 0 : static_cast<Real>(below / sampling.temperature);
  }
  softmax(row(shares));
  return shares;
}
//! [next_shares]

//! [draw_symbol]
/// Draws a symbol: the first at which the shares so far exceed a number from [0, 1).
/// @param shares  (symbols)  1 in sum
/// @return the symbol's number; never one whose share is 0
inline int draw_symbol(ConstRow shares, Generator& generator) {
  Real left = generator.uniform(0, 1);
  std::size_t likely = 0;  // what rounding leaves over goes to a symbol that can be drawn
  for (std::size_t symbol = 0; symbol < shares.size(); ++symbol) {
    if (shares[symbol] == 0) continue;
    likely = symbol;
    left -= shares[symbol];
    if (left < 0) break;
  }
  return static_cast<int>(likely);
}
//! [draw_symbol]

//! [continue_text]
/// Lets the model write on. It reads the last `context` symbols; from there on each new one pushes
/// the oldest out, and every place changes, so that nothing of the step before can be used again.
/// @param text    at least one symbol
/// @param length  how many to write
/// @param write   called with each new symbol; writing ends when it returns false
/// @throws std::invalid_argument when there is no symbol, or the temperature will not do;
/// std::runtime_error when the model's logits are not finite
template <class Write>
void continue_text(const GPT2& model, std::vector<int> text, std::size_t length,
                   const Sampling& sampling, Generator& generator, Write write) {
  if (text.empty()) throw std::invalid_argument("There is no symbol to go on from.");
  ModelPass pass(model.config, 1, std::min(text.size(), model.config.context));
  for (std::size_t k = 0; k < length; ++k) {
    const std::size_t T = std::min(text.size(), model.config.context);
    if (T != pass.T) pass = ModelPass(model.config, 1, T);
    model.forward(pass, Tokens(text).last(T));
    const ConstRow logits = row(pass.logits, T - 1);
    if (!std::isfinite(sum_of(logits))) {
      throw std::runtime_error("The model's logits are not finite: its weights are of no use.");
    }
    const int symbol = draw_symbol(row(next_shares(logits, sampling)), generator);
    text.push_back(symbol);
    if (!write(symbol)) return;
  }
}
//! [continue_text]
