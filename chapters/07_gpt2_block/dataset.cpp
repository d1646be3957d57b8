#include "dataset.hpp"

#include <optional>

#include "loss.hpp"
#include "parallel.hpp"

namespace {

constexpr std::size_t sequences_at_once = 4;

/// Number `piece` of the pieces that `mean_loss` cuts a text into: the sum of its targets' losses.
double loss_of_piece(const GPT2& model, Tokens text, std::size_t first, std::size_t B,
                     std::size_t T, std::optional<ModelPass>& pass) {
  const std::size_t n = B * T;
  if (!pass || pass->T != T || pass->embedded.shape(0) != n) pass.emplace(model.config, B, T);
  model.forward(*pass, text.subspan(first, n));
  return static_cast<double>(n) * cross_entropy(pass->logits, text.subspan(first + 1, n));
}

}  // namespace

std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t step, std::uint64_t part) {
  // splitmix64, twice
  std::uint64_t z = seed;
  for (const std::uint64_t more : {step, part}) {
    z += 0x9e3779b97f4a7c15U * (more + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
  }
  return z;
}

Dataset::Dataset(std::vector<int> text, std::size_t T) {
  const std::size_t symbols = text.size();
  const std::size_t cut = symbols / 10 * 9 + symbols % 10 * 9 / 10;
  validation.assign(text.begin() + static_cast<std::ptrdiff_t>(cut), text.end());
  text.resize(cut);
  train = std::move(text);
  for (const auto& [name, part] :
       {std::pair{"first nine tenths", &train}, {"last tenth", &validation}}) {
    if (part->size() <= T) {
      throw std::invalid_argument(fmt::format(
          "The text has {} symbols, its {} {}: a context of {} needs more than {} in each.",
          symbols, name, part->size(), T, T));
    }
  }
}

Batch Dataset::draw(std::size_t B, std::size_t T, std::uint64_t seed, std::size_t step) const {
  std::mt19937_64 engine(mixed_seed(seed, step, 0));
  Batch batch{B, T, {}, {}};
  for (std::size_t b = 0; b < B; ++b) {
    // The remainder favours no place by more than one part in 2^64 / the text's length.
    const auto first = static_cast<std::ptrdiff_t>(engine() % (train.size() - T));
    const auto begin = train.begin() + first;
    const auto end = begin + static_cast<std::ptrdiff_t>(T);
    batch.inputs.insert(batch.inputs.end(), begin, end);
    batch.targets.insert(batch.targets.end(), begin + 1, end + 1);
  }
  return batch;
}

double dataset_bytes(std::size_t symbols) {
  return 1.1 * static_cast<double>(symbols) * sizeof(int);  // the last tenth is copied
}

double mean_loss_bytes(const Config& config, std::size_t symbols, std::size_t T,
                       std::size_t threads) {
  Config judged = config;
  judged.dropout = 0;
  const std::size_t pieces = std::max<std::size_t>(1, symbols / (sequences_at_once * T));
  return static_cast<double>(std::min(pieces, threads)) * pass_bytes(judged, sequences_at_once, T);
}

double mean_loss(const GPT2& model, Tokens text, std::size_t T, std::size_t threads) {
  if (text.size() < 2) throw std::invalid_argument("A loss needs at least two symbols.");
  if (T == 0 || threads == 0) {
    throw std::invalid_argument(
        fmt::format("mean_loss: pieces of {} symbols on {} threads: at least one of both is needed",
                    T, threads));
  }
  const std::size_t targets = text.size() - 1;
  const std::size_t rows = std::min(targets / T, sequences_at_once) * T;
  const std::size_t pieces = rows == 0 ? 0 : targets / rows;
  std::vector<std::optional<ModelPass>> passes(threads);
  std::vector<double> losses(pieces);
  in_parallel(pieces, threads, [&](std::size_t piece, std::size_t thread) {
    losses[piece] = loss_of_piece(model, text, piece * rows, rows / T, T, passes[thread]);
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  // What is left over: sequences that fill no piece, and one that is shorter than T.
  for (std::size_t first = pieces * rows; first < targets;) {
    const std::size_t length = std::min(T, targets - first);
    sum += loss_of_piece(model, text, first, 1, length, passes[0]);
    first += length;
  }
  return sum / static_cast<double>(targets);
}
