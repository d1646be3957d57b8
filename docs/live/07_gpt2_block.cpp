/// @file
/// @brief Chapter 07 in a page: a small model that learns to write, some steps at a time.

#include <chrono>
#include <memory>

#include "chapters/07_gpt2_block/sampling.hpp"
#include "chapters/07_gpt2_block/trainer.hpp"
#include "chapters/07_gpt2_block/vocabulary.hpp"
#include "common/text.hpp"
#include "docs/live/page.hpp"

namespace {

constexpr std::size_t most_bytes = 100'000;  // of a text
constexpr std::size_t glance = 1024;         // symbols of validation text that are looked at
constexpr std::size_t batch = 4;             // sequences in a step
constexpr Config sizes{.symbols = 0, .context = 32, .layers = 2, .heads = 2, .width = 32};

TrainingSettings settings_for(std::uint64_t seed) {
  TrainingSettings settings;
  settings.batch = batch;
  settings.learning_rate = {5e-3, 5e-4, 100, 1000};
  settings.seed = seed;
  return settings;
}

GPT2 drawn_model(std::size_t symbols, std::uint64_t seed) {
  Config config = sizes;
  config.symbols = symbols;  // those of the text
  Generator generator(seed);
  return GPT2(config, generator);
}

/// A model in training, with its text.
struct Training {
  std::uint64_t seed;
  Vocabulary vocabulary;
  Dataset data;
  Trainer trainer;

  Training(const std::string& text, std::uint64_t number)
      : seed(number),
        vocabulary(text),
        data(vocabulary.encode(text, "the text"), sizes.context),
        trainer(drawn_model(vocabulary.size(), seed), settings_for(seed)) {}

  double step() { return trainer.step(data.draw(batch, sizes.context, seed, trainer.steps)); }

  double validation_loss() const {
    const Tokens text(data.validation);
    return mean_loss(trainer.model, text.first(std::min(text.size(), glance)), sizes.context, 1);
  }

  /// What the model writes after the first symbol of the text.
  std::string sample(std::size_t length) const {
    Generator generator(seed + trainer.steps);
    std::vector<int> written;
    continue_text(trainer.model, {data.train.front()}, length, Sampling{}, generator,
                  [&](int symbol) {
                    written.push_back(symbol);
                    return true;
                  });
    return vocabulary.decode(written);
  }
};

std::unique_ptr<Training> training;

/// Refuses what the program refuses to read from a file, and what is too much for a page.
void require_readable(const std::string& text) {
  if (text.size() > most_bytes) {
    throw std::invalid_argument(fmt::format("the text has {} bytes; this figure takes at most {}",
                                            grouped(text.size()), grouped(most_bytes)));
  }
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at, "the text");
    require_text(c, "the text");
    at += c.length;
  }
}

double now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

/// A new model for a text, with nothing learned. The one before stays when the text will not do.
extern "C" EMSCRIPTEN_KEEPALIVE const char* begin(const char* text, int seed) {
  return answer([&](Report& report) {
    require_readable(text);
    training = std::make_unique<Training>(text, static_cast<std::uint64_t>(seed));
    report.section("model", "The model");
    report.count("steps", settings_for(training->seed).learning_rate.steps);
    report.count("parameters", parameter_count(training->trainer.model.config));
    report.count("symbols", training->vocabulary.size());
    report.count("train", training->data.train.size());
    report.count("validation", training->data.validation.size());
  });
}

/// Steps until so many milliseconds are over or step `last` is done.
extern "C" EMSCRIPTEN_KEEPALIVE const char* train_for(double milliseconds, int last) {
  return answer([&](Report& report) {
    const double end = now() + milliseconds;
    double sum = 0;
    std::size_t count = 0;
    while (training->trainer.steps < static_cast<std::size_t>(last) &&
           (count == 0 || now() < end)) {
      sum += training->step();
      ++count;
    }
    report.section("slice", "Some steps");
    report.count("steps", training->trainer.steps);
    report.count("count", count);
    report.number("sum", sum);
  });
}

/// The loss on what is not trained on.
extern "C" EMSCRIPTEN_KEEPALIVE const char* look() {
  return answer([&](Report& report) {
    report.section("look", "A look");
    report.number("validation", training->validation_loss());
  });
}

/// What the model writes now.
extern "C" EMSCRIPTEN_KEEPALIVE const char* sample(int length) {
  static std::string written;
  written = training->sample(static_cast<std::size_t>(length));
  return written.c_str();
}
