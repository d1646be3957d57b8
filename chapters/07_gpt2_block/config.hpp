#pragma once
/// @file
/// @brief The sizes that make one GPT-2 differ from another.

#include <cstddef>

#include "common/real.hpp"

/// What there is to choose about a GPT-2. All else follows: a head has width / heads columns, and
/// the feed-forward layer is four times as wide as the model.
struct Config {
  std::size_t symbols;  ///< how many symbols the model tells apart; 50,257 in GPT-2
  std::size_t context;  ///< the most tokens it reads at once; 1,024
  std::size_t layers;   ///< blocks, one on top of the other; 12 in the smallest GPT-2
  std::size_t heads;    ///< of each block's attention; 12
  std::size_t width;    ///< columns of a token's vector; 768
  Real dropout = 0;     ///< the share that is dropped while training; 0.1 in GPT-2's config.json
};

/// Numbers that are learned. The head is the token embedding again and counts once.
///
/// With V symbols, T tokens of context, L layers and C columns these are (V + T) C in the two
/// embeddings, L (12 C² + 13 C) in the blocks, and 2 C in the last norm: 124,439,808 for 50,257,
/// 1,024, 12 and 768. Nothing is allocated.
/// @throws std::invalid_argument when there are more than a trillion, or than memory has addresses
std::size_t parameter_count(const Config& config);

/// @throws std::invalid_argument with the number that no model can have: a size of zero, heads that
/// cannot share the width evenly, a dropout below 0 or from 1 upwards, or sizes that make more
/// parameters than `parameter_count` counts
void require_valid(const Config& config);
