#include "config.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace {

/// A thousand times the largest model that such a program could hold; and no more than memory has
/// addresses for.
constexpr std::uint64_t most_parameters = std::min<std::uint64_t>(
    1'000'000'000'000, std::numeric_limits<std::size_t>::max() / sizeof(Real));

/// A whole number that stays at `most_parameters` + 1 once it is larger, and never overflows.
struct Count {
  std::uint64_t value;

  Count(std::uint64_t number) : value(std::min(number, most_parameters + 1)) {}
};

Count operator+(Count a, Count b) {
  return {a.value + b.value};
}

Count operator*(Count a, Count b) {
  if (a.value != 0 && b.value > most_parameters / a.value) return {most_parameters + 1};
  return {a.value * b.value};
}

void require_size(std::size_t size, const char* name) {
  if (size == 0) throw std::invalid_argument(fmt::format("{} is 0: at least 1 is needed", name));
}

}  // namespace

std::size_t parameter_count(const Config& config) {
  const Count C = config.width;
  const Count embeddings = (Count(config.symbols) + Count(config.context)) * C;
  const Count block = Count(12) * C * C + Count(13) * C;
  const Count all = embeddings + Count(config.layers) * block + Count(2) * C;
  if (all.value > most_parameters) {
    throw std::invalid_argument(
        fmt::format("{} layers of width {} with {} symbols and a context of {} have more than {} "
                    "parameters",
                    config.layers, config.width, config.symbols, config.context, most_parameters));
  }
  return static_cast<std::size_t>(all.value);
}

void require_valid(const Config& config) {
  require_size(config.symbols, "the number of symbols");
  require_size(config.context, "the context");
  require_size(config.layers, "the number of layers");
  require_size(config.heads, "the number of heads");
  require_size(config.width, "the width");
  if (config.width % config.heads != 0) {
    throw std::invalid_argument(
        fmt::format("a width of {} columns cannot be divided evenly among {} heads", config.width,
                    config.heads));
  }
  if (!(config.dropout >= 0 && config.dropout < 1)) {
    throw std::invalid_argument(
        fmt::format("dropout is {}: it must be at least 0 and less than 1", config.dropout));
  }
  parameter_count(config);
}
