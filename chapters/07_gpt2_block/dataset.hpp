#pragma once
/// @file
/// @brief A text as symbols, cut into what the model learns from and what it is judged by.

#include <cstdint>
#include <vector>

#include "model.hpp"

//! [batch]
/// Symbols to learn from: each of `inputs` is followed, in the text, by the one in the same place
/// of `targets`.
struct Batch {
  std::size_t B;             ///< number of sequences
  std::size_t T;             ///< symbols in each
  std::vector<int> inputs;   ///< (B · T)
  std::vector<int> targets;  ///< (B · T)
};
//! [batch]

//! [dataset]
/// The first nine tenths of a text to train on, the rest to validate with.
struct Dataset {
  std::vector<int> train;
  std::vector<int> validation;

  /// @throws std::invalid_argument when one of the two is not longer than T symbols
  Dataset(std::vector<int> text, std::size_t T);

  /// B sequences of T symbols from anywhere in `train`. The same seed and step give the same batch;
  /// so a run that goes on need not know what was drawn before.
  Batch draw(std::size_t B, std::size_t T, std::uint64_t seed, std::size_t step) const;
};
//! [dataset]

//! [mean_loss]
/// The mean loss over a whole text, cut into pieces of T symbols one after the other; each symbol
/// but the first is a target once. Any number of threads gives the same bits.
/// @throws std::invalid_argument when there are fewer than two symbols, T is 0, or there are no
/// threads
double mean_loss(const GPT2& model, Tokens text, std::size_t T, std::size_t threads);
//! [mean_loss]

/// The memory of a text of so many symbols as a `Dataset`, in bytes.
double dataset_bytes(std::size_t symbols);

/// The memory of `mean_loss` over so many symbols, in bytes.
double mean_loss_bytes(const Config& config, std::size_t symbols, std::size_t T,
                       std::size_t threads);

/// Well-spread seeds for the parts of a run: its steps, and what happens in them.
std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t step, std::uint64_t part);
