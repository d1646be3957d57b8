#include "trainer.hpp"

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "loss.hpp"
#include "parallel.hpp"

namespace {

constexpr std::size_t piece_size = 4096;

/// A part of one of the model's tensors: what a thread adds up and updates at a time.
struct Piece {
  std::size_t parameter;
  std::size_t begin;
  std::size_t size;
};

std::vector<Piece> cut(const std::vector<Parameter>& parameters) {
  std::vector<Piece> pieces;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::size_t size = parameters[p].numbers.size();
    for (std::size_t begin = 0; begin < size; begin += piece_size) {
      pieces.push_back({p, begin, std::min(piece_size, size - begin)});
    }
  }
  return pieces;
}

/// The first sequence of a shard. One more than the last shard: the end of the batch.
std::size_t first_of(std::size_t shard, std::size_t shards, std::size_t batch) {
  return shard * batch / shards;
}

/// How many sequences a shard can have: one number, or two that differ by one.
std::set<std::size_t> shard_sizes(std::size_t shards, std::size_t batch) {
  std::set<std::size_t> sizes;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    sizes.insert(first_of(shard + 1, shards, batch) - first_of(shard, shards, batch));
  }
  return sizes;
}

Row part_of(const std::vector<Parameter>& parameters, const Piece& piece) {
  return parameters[piece.parameter].numbers.subspan(piece.begin, piece.size);
}

}  // namespace

double trainer_bytes(const Config& config, std::size_t T, const TrainingSettings& settings) {
  const std::size_t shards = shards_of(settings.batch);
  const auto models = static_cast<double>(3 + shards);  // the weights, two means, the gradients
  double passes = 0;                                    // of a thread
  for (const std::size_t count : shard_sizes(shards, settings.batch)) {
    passes += pass_bytes(config, count, T);
  }
  return models * model_bytes(config) +
         static_cast<double>(std::min(settings.threads, shards)) * passes;
}

/// The buffers: the passes are made in the first step, all others before it.
struct Trainer::Work {
  TrainingSettings settings;
  std::vector<GPT2> gradients;                       // one a shard
  std::vector<std::vector<Parameter>> in_gradients;  // their tensors
  std::vector<Parameter> in_model, in_mean, in_square;
  std::vector<Piece> pieces;
  std::vector<std::map<std::size_t, ModelPass>> passes;  // for each thread, by sequences in a shard
  std::vector<double> losses;                            // one a shard
  std::vector<double> squares;                           // one a piece
  double norm = 0;
};

Trainer::Trainer(GPT2 start, const TrainingSettings& settings)
    : model(std::move(start)),
      mean(zeros_like(model)),
      square(zeros_like(model)),
      work_(std::make_unique<Work>()) {
  if (settings.batch == 0 || settings.threads == 0) {
    throw std::invalid_argument(
        fmt::format("training needs at least one of both: {} sequences, {} threads", settings.batch,
                    settings.threads));
  }
  Work& work = *work_;
  work.settings = settings;
  const std::size_t shards = shards_of(settings.batch);
  for (std::size_t shard = 0; shard < shards; ++shard) work.gradients.push_back(zeros_like(model));
  for (GPT2& gradient : work.gradients) work.in_gradients.push_back(gradient.parameters());
  work.in_model = model.parameters();
  work.in_mean = mean.parameters();
  work.in_square = square.parameters();
  work.pieces = cut(work.in_model);
  work.losses.resize(shards);
  work.squares.resize(work.pieces.size());
}

Trainer::~Trainer() = default;

double Trainer::gradient_norm() const {
  return work_->norm;
}

double Trainer::step(const Batch& batch) {
  if (batch.B != work_->settings.batch) {
    throw std::invalid_argument(fmt::format("step: {} sequences, but the trainer was made for {}",
                                            batch.B, work_->settings.batch));
  }
  try {
    make_passes(batch.T);
    const double loss = add_up_gradients(batch);
    require_finite(loss);
    update_weights();
    return loss;
  } catch (...) {
    forget_gradients();
    throw;
  }
}

void Trainer::require_finite(double loss) const {
  if (std::isfinite(loss) && std::isfinite(work_->norm)) return;
  throw std::runtime_error(
      fmt::format("In step {} the loss is {} and the norm of the gradients {}: training has "
                  "diverged, and a smaller learning rate may help.",
                  steps + 1, std::abs(loss), std::abs(work_->norm)));  // abs: no "-nan"
}

/// For each thread one of each size, since which shard it gets is chance.
void Trainer::make_passes(std::size_t T) {
  Work& work = *work_;
  if (!work.passes.empty()) return;
  const std::size_t shards = work.gradients.size();
  std::vector<std::map<std::size_t, ModelPass>> passes(std::min(work.settings.threads, shards));
  for (std::map<std::size_t, ModelPass>& of_thread : passes) {
    for (const std::size_t count : shard_sizes(shards, work.settings.batch)) {
      ModelPass& pass = of_thread.try_emplace(count, model.config, count, T).first->second;
      if (model.config.dropout > 0) pass.make_room_for_dropout();
    }
  }
  work.passes = std::move(passes);
}

double Trainer::add_up_gradients(const Batch& batch) {
  Work& work = *work_;
  in_parallel(work.gradients.size(), work.settings.threads,
              [&](std::size_t shard, std::size_t thread) { run_shard(batch, shard, thread); });
  in_parallel(work.pieces.size(), work.settings.threads, [&](std::size_t p, std::size_t) {
    const Row sum = part_of(work.in_gradients[0], work.pieces[p]);
    for (std::size_t shard = 1; shard < work.gradients.size(); ++shard) {
      const Row more = part_of(work.in_gradients[shard], work.pieces[p]);
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += more[j];
      std::fill(more.begin(), more.end(), Real{0});
    }
    work.squares[p] = static_cast<double>(dot(sum, sum));
  });
  work.norm = std::sqrt(std::accumulate(work.squares.begin(), work.squares.end(), 0.0));
  return std::accumulate(work.losses.begin(), work.losses.end(), 0.0);
}

void Trainer::run_shard(const Batch& batch, std::size_t shard, std::size_t thread) {
  Work& work = *work_;
  const std::size_t shards = work.gradients.size();
  const std::size_t first = first_of(shard, shards, batch.B);
  const std::size_t count = first_of(shard + 1, shards, batch.B) - first;
  const Tokens inputs = Tokens(batch.inputs).subspan(first * batch.T, count * batch.T);
  const Tokens targets = Tokens(batch.targets).subspan(first * batch.T, count * batch.T);
  ModelPass& pass = work.passes[thread].at(count);
  Generator generator(mixed_seed(work.settings.seed, steps, 1 + shard));
  const Dropout dropout{model.config.dropout, &generator};
  const double part = static_cast<double>(count) / static_cast<double>(batch.B);
  model.forward(pass, inputs, dropout);
  work.losses[shard] = part * cross_entropy(pass.logits, targets);
  cross_entropy_backward(pass.logits, targets, static_cast<Real>(part));
  model.backward(work.gradients[shard], pass.logits, pass, inputs, dropout);
}

void Trainer::update_weights() {
  Work& work = *work_;
  const TrainingSettings& settings = work.settings;
  const auto clip = static_cast<Real>(clip_factor(work.norm, settings.clip));
  const double rate = settings.learning_rate(steps);
  ++steps;
  in_parallel(work.pieces.size(), settings.threads, [&](std::size_t p, std::size_t) {
    const Piece& piece = work.pieces[p];
    const Row gradient = part_of(work.in_gradients[0], piece);
    for (Real& g : gradient) g *= clip;
    settings.adamw.update(part_of(work.in_model, piece), part_of(work.in_mean, piece),
                          part_of(work.in_square, piece), gradient, steps, rate,
                          work.in_model[piece.parameter].is_matrix());
    std::fill(gradient.begin(), gradient.end(), Real{0});
  });
}

void Trainer::forget_gradients() {
  for (const std::vector<Parameter>& gradient : work_->in_gradients) {
    for (const Parameter& tensor : gradient) {
      std::fill(tensor.numbers.begin(), tensor.numbers.end(), Real{0});
    }
  }
}
