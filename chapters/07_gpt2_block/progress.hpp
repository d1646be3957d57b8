#pragma once
/// @file
/// @brief What a training run says while it works: a line that changes on a terminal, plain lines
/// in a pipe.

#include <chrono>
#include <cstddef>

#include "loss_curve.hpp"

/// Follows a run from its first step to its last.
class Progress {
 public:
  /// @param first   the step at which this run begins; 0 unless it goes on
  /// @param steps   the step at which it ends
  /// @param tokens  that one step reads
  Progress(std::size_t first, std::size_t steps, std::size_t tokens);
  ~Progress();

  /// After each step; shows something on a terminal only, and at most ten times a second.
  void step(std::size_t step, double loss);

  /// A line that stays.
  void point(const LossPoint& point);

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double tokens_a_second(std::size_t step) const;
  void clear_line() const;

  std::size_t first_;
  std::size_t steps_;
  std::size_t tokens_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  double shown_ = -1;  // when the changing line was last written, in seconds
};
