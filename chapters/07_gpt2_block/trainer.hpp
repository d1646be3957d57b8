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

//! [trainer]
/// A model, what the optimizer remembers of it, and the buffers for a step.
///
/// The batch is cut into shards. A thread takes a shard, runs it forward and backward, and leaves
/// its gradients in that shard's own buffer; then the buffers are added in the order of the shards.
/// The number of shards depends on the batch alone. So any number of threads gives the same bits.
class Trainer {
 public:
  Trainer(GPT2 model, const TrainingSettings& settings);
  ~Trainer();

  /// One step of AdamW.
  /// @return the mean loss over the batch before the step
  /// @throws std::runtime_error when the loss or the gradient is not finite; the weights are then
  /// as they were
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
  double add_up_gradients(const Batch& batch);
  void run_shard(const Batch& batch, std::size_t shard, std::size_t thread);
  void update_weights();

  struct Work;
  std::unique_ptr<Work> work_;
};
//! [trainer]
