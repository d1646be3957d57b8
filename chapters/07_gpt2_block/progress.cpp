#include "progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "common/text.hpp"

namespace {

std::string whole(double number) {
  return grouped(static_cast<std::size_t>(std::lround(number)));
}

}  // namespace

Progress::Progress(std::size_t first, std::size_t steps, std::size_t tokens)
    : first_(first), steps_(steps), tokens_(tokens), terminal_(isatty(STDOUT_FILENO) == 1) {}

Progress::~Progress() {
  clear_line();
}

double Progress::tokens_a_second(std::size_t step) const {
  return static_cast<double>((step - first_) * tokens_) / std::max(seconds(), 1e-9);
}

void Progress::clear_line() const {
  if (!terminal_) return;
  fmt::print("\r\033[K");
  std::fflush(stdout);
}

void Progress::step(std::size_t step, double loss) {
  if (!terminal_ || seconds() - shown_ < 0.1) return;
  shown_ = seconds();
  const double left =
      shown_ * static_cast<double>(steps_ - step) / static_cast<double>(step - first_);
  fmt::print("\r\033[Kstep {} of {}   loss {:.3f}   {} tokens/s   {:.0f} s left", grouped(step),
             grouped(steps_), loss, whole(tokens_a_second(step)), left);
  std::fflush(stdout);
}

void Progress::point(const LossPoint& point) {
  clear_line();
  fmt::print("step {:>6}   train {:.4f}   validation {:.4f}   {} tokens/s   {:.0f} s\n",
             grouped(point.step), point.train, point.validation, whole(tokens_a_second(point.step)),
             seconds());
  std::fflush(stdout);
}
