#pragma once
/// @file
/// @brief A training run from a text to a model that writes.

#include <cstdint>
#include <filesystem>
#include <string>

#include "config.hpp"
#include "trainer.hpp"

/// What a training run is told.
struct RunSettings {
  std::filesystem::path data;       ///< the text; empty: the book's own
  Config config{0, 64, 4, 4, 128};  ///< the symbols are those of the text
  std::size_t batch = 12;
  std::size_t steps = 2000;
  double learning_rate = 1e-3;  ///< the highest; a tenth of it is the lowest
  std::uint64_t seed = 42;
  std::size_t threads = 1;
  std::size_t every = 250;    ///< steps between two looks at the validation loss, and two savings
  std::filesystem::path out;  ///< the model's folder; empty: the model is not kept
};

/// What a run that goes on may change; the rest is as it was.
struct Resumption {
  bool steps = false;
  bool every = false;
  bool data = false;
};

/// Warm-up and cosine for so many steps.
Schedule schedule_of(const RunSettings& settings);

/// Trains a new model, and says how it goes on standard output: a line each `every` steps, then a
/// sample, and at last the validation loss.
///
/// Ctrl-C ends the step, saves, and says how to go on.
/// @return the program's exit code: 0, or 130 after Ctrl-C
/// @throws std::runtime_error, std::invalid_argument when a size, the text or the folder will not
/// do; before anything has been written, if that can be known before
int train(const RunSettings& given);

/// Goes on where the run of a folder ended, to the same bits as if it had not ended.
/// @param given    the folder and the settings
/// @param changes  the settings that the reader has given anew
/// @return as `train`
/// @throws as `train`; also when the folder has no run that can go on, or its text has changed and
/// is not named anew (the book's own text may)
int resume(const RunSettings& given, const Resumption& changes);

/// The text of a file or, with an empty path, of the book.
/// @throws as `read_text`
std::string text_of(const std::filesystem::path& data);
