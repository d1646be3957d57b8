#pragma once
/// @file
/// @brief A training step on several threads, whose result does not depend on how many there are.

#include <cstdint>
#include <memory>

#include "adamw.hpp"
#include "dataset.hpp"

/// What a training step is told.
struct TrainingSettings {
  std::size_t batch = 12;  ///< sequences in a step
  Schedule learning_rate;
  AdamW adamw;
  double clip = 1;          ///< the largest norm of all gradients together
  std::uint64_t seed = 42;  ///< of what dropout drops
  std::size_t threads = 1;
};

/// In how many shards a batch is cut. Each costs a copy of the gradients and their addition, so
/// there are few; more threads than that make only the optimizer faster.
inline std::size_t shards_of(std::size_t batch) {
  constexpr std::size_t most = 4;
  return std::min(batch, most);
}

/// The memory of a `Trainer`, in bytes, for batches of sequences of T symbols.
/// @throws std::invalid_argument when the model has more parameters than can be counted
double trainer_bytes(const Config& config, std::size_t T, const TrainingSettings& settings);

//! [trainer]
/// A model, what the optimizer remembers of it, and the buffers for a step.
///
/// The batch is cut into shards. A thread takes a shard, runs it forward and backward, and leaves
/// its gradients in that shard's own buffer; then the buffers are added in the order of the shards.
/// The number of shards depends on the batch alone. So any number of threads gives the same bits.
class Trainer {
 public:
  /// @throws std::invalid_argument when there are no sequences in a step, or no threads
  Trainer(GPT2 start, const TrainingSettings& settings);
  ~Trainer();

  /// One step of AdamW.
  /// @return the mean loss over the batch before the step
  /// @throws std::invalid_argument when the batch has another number of sequences than the settings
  /// say, or another length than the first; std::runtime_error when the loss or the gradient is not
  /// finite. After that all is as it was before the step
  double step(const Batch& batch);

  /// The gradients' norm in the last step, before clipping.
  double gradient_norm() const;

  // Between two steps the numbers of these may be changed, as a run that goes on does. The tensors
  // may not be replaced by others: the buffers know where they lie.

  std::size_t steps = 0;  ///< taken so far
  GPT2 model;
  GPT2 mean;    ///< running mean of the gradients
  GPT2 square;  ///< running mean of their squares

 private:
  void make_passes(std::size_t T);
  double add_up_gradients(const Batch& batch);
  void run_shard(const Batch& batch, std::size_t shard, std::size_t thread);
  void require_finite(double loss) const;
  void update_weights();
  void forget_gradients();

  struct Work;
  std::unique_ptr<Work> work_;
};
//! [trainer]
