#include "train.hpp"

#include <fmt/core.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <optional>

#include "book_text.hpp"
#include "checkpoint.hpp"
#include "common/atomic_file.hpp"
#include "common/blas.hpp"
#include "common/memory.hpp"
#include "common/text.hpp"
#include "config_file.hpp"
#include "folder.hpp"
#include "progress.hpp"
#include "run_record.hpp"
#include "sampling.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t glance = 16384;       // symbols of validation text that are enough on the way
constexpr std::size_t sample_length = 400;  // symbols
constexpr std::size_t most_table_bytes = 100'000'000;
constexpr int interrupted_exit = 130;
constexpr const char* as_typed = "./chapters/run 7 --";

// --- Ctrl-C ------------------------------------------------------------------------------------

volatile std::sig_atomic_t interrupted = 0;

/// For Ctrl-C, and for a terminal that is closed. A second Ctrl-C ends the program at once: what is
/// saved is whole at any moment. A terminal that is closed says so twice.
extern "C" void note_interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, signal == SIGHUP ? SIG_IGN : SIG_DFL);
}

/// As behind `nohup`.
bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void watch_for_interrupts() {
  interrupted = 0;
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
  if (!is_ignored(SIGHUP)) std::signal(SIGHUP, note_interrupt);
}

/// A reader of what the run prints, such as `tee`, may go away; the run goes on, and saves.
void outlive_readers() {
  std::signal(SIGPIPE, SIG_IGN);
}

// --- the run -----------------------------------------------------------------------------------

std::string name_of(const fs::path& data) {
  return data.empty() ? "the book's text" : data.string();
}

Dataset dataset_of(const std::string& text, const Vocabulary& vocabulary,
                   const RunSettings& settings) {
  return {vocabulary.encode(text, name_of(settings.data)), settings.config.context};
}

/// A model in training, with its text and its folder.
class Run {
 public:
  /// @param lock  on the folder that the model is kept in; null: it is not kept
  Run(const RunSettings& settings, Vocabulary vocabulary, GPT2 model, const std::string& text,
      const FolderLock* lock)
      : settings_(settings),
        vocabulary_(std::move(vocabulary)),
        lock_(lock),
        text_sum_(checksum(text)),
        beside_sum_(checksum_beside(model.config, vocabulary_)),
        data_(dataset_of(text, vocabulary_, settings)),
        trainer_(std::move(model), trainer_settings()) {}

  Trainer& trainer() { return trainer_; }

  /// The losses of the run that this one goes on with. It may have been killed before it drew them.
  void set_points(std::vector<LossPoint> points) {
    points_ = std::move(points);
    if (!points_.empty()) draw_losses();
  }

  int perform() {
    if (const auto warning = slow_blas_warning()) fmt::print(stderr, "{}\n", *warning);
    introduce();
    watch_for_interrupts();
    if (!settings_.out.empty()) outlive_readers();
    saved_ = trainer_.steps;
    try {
      const bool finished = take_steps();
      if (finished) finish();
      return finished ? 0 : interrupted_exit;
    } catch (const std::bad_alloc&) {
      give_up("There is not enough memory for sizes like these.");
    } catch (const std::runtime_error& error) {
      give_up(sentence_of(error));
    }
  }

 private:
  TrainingSettings trainer_settings() const {
    TrainingSettings trainer;
    trainer.batch = settings_.batch;
    trainer.learning_rate = schedule_of(settings_);
    trainer.seed = settings_.seed;
    trainer.threads = settings_.threads;
    return trainer;
  }

  void introduce() const {
    const Config& config = settings_.config;
    fmt::print("{} layers, {} heads, width {}, context {}: {} parameters\n", config.layers,
               config.heads, config.width, config.context, grouped(parameter_count(config)));
    fmt::print("{} symbols to train on, {} to validate with, {} of them different\n",
               grouped(data_.train.size()), grouped(data_.validation.size()), vocabulary_.size());
    std::fflush(stdout);
  }

  /// @return false after Ctrl-C
  bool take_steps() {
    Progress progress(trainer_.steps, settings_.steps, settings_.batch * settings_.config.context);
    double sum = 0;
    std::size_t count = 0;
    while (trainer_.steps < settings_.steps) {
      const double loss = trainer_.step(
          data_.draw(settings_.batch, settings_.config.context, settings_.seed, trainer_.steps));
      sum += loss;
      ++count;
      progress.step(trainer_.steps, loss);
      const bool last = trainer_.steps == settings_.steps;
      if (trainer_.steps % settings_.every == 0 || last || interrupted != 0) {
        const double judged = validation_loss(last);
        if (last) whole_loss_ = judged;
        points_.push_back({trainer_.steps, sum / static_cast<double>(count), judged});
        require_finite(points_.back());
        sum = 0;
        count = 0;
        save();
        progress.point(points_.back());
      }
      if (interrupted != 0 && !last) {
        say_how_to_go_on();
        return false;
      }
    }
    return true;
  }

  /// @throws std::runtime_error before anything is saved that is of no use
  static void require_finite(const LossPoint& point) {
    if (is_loss(point.train) && is_loss(point.validation)) return;
    throw std::runtime_error(
        fmt::format("After step {} the validation loss is {}: training has diverged, and a smaller "
                    "learning rate may help.",
                    point.step, std::abs(point.validation)));  // abs: no "-nan"
  }

  double validation_loss(bool whole) const {
    const Tokens text(data_.validation);
    return mean_loss(trainer_.model, whole ? text : text.first(std::min(text.size(), glance)),
                     settings_.config.context, settings_.threads);
  }

  void save() {
    if (settings_.out.empty()) return;
    lock_->require_in_place();
    const Metadata metadata = metadata_of(settings_, trainer_.steps, text_sum_, beside_sum_);
    if (saved_ == 0) {  // what a model needs beside it
      write_config(settings_.out / "config.json", settings_.config);
      vocabulary_.save(settings_.out / "characters.json");
    }
    // The table first: a run that is killed before the model is there goes on from the model
    // before, and drops the point. The other way round the curve would lack it for good.
    AtomicFile(settings_.out / "losses.csv", loss_table(points_)).commit();
    save_optimizer(settings_.out, trainer_.steps, trainer_.mean, trainer_.square, metadata);
    save_model(settings_.out, trainer_.model, metadata);
    saved_ = trainer_.steps;
    remove_other_optimizers(settings_.out, trainer_.steps);
    draw_losses();
  }

  void draw_losses() const {
    AtomicFile(settings_.out / "losses.svg", loss_curve_svg(points_)).commit();
  }

  [[noreturn]] void give_up(const std::string& reason) const {
    if (settings_.out.empty()) throw std::runtime_error(reason);
    if (saved_ == 0) remove_left_overs(settings_.out);
    throw std::runtime_error(
        fmt::format("{}{} {}", reason, reason.ends_with('.') ? "" : ".", what_is_saved()));
  }

  std::string what_is_saved() const {
    if (saved_ == 0) return "Nothing has been saved yet.";
    std::error_code ignored;
    if (!lock_->is_in_place() || !fs::exists(settings_.out / "model.safetensors", ignored)) {
      return fmt::format("The model of step {} was in {}, but is no longer there.", grouped(saved_),
                         settings_.out.string());
    }
    return fmt::format("The model of step {} is in {}.", grouped(saved_), settings_.out.string());
  }

  void say_how_to_go_on() const {
    fmt::print("Interrupted after step {} of {}. ", grouped(trainer_.steps),
               grouped(settings_.steps));
    if (settings_.out.empty()) {
      fmt::print("Nothing is saved; a run that can go on begins with: {} train\n", as_typed);
    } else {
      fmt::print("{} To go on: {} train --resume --out {}\n", what_is_saved(), as_typed,
                 for_shell(settings_.out.string()));
    }
    std::fflush(stdout);
  }

  void finish() {
    std::vector<int> text{data_.validation.front()};
    if (vocabulary_.knows('\n')) text = vocabulary_.encode("\n");
    Generator generator(settings_.seed);
    std::vector<int> written;
    continue_text(trainer_.model, text, sample_length, Sampling{}, generator, [&](int symbol) {
      written.push_back(symbol);
      return true;
    });
    fmt::print("\n{}\n\n", vocabulary_.decode(written));
    if (!settings_.out.empty()) {
      fmt::print(
          "The model is in {}. To let it write, and to train on:\n"
          "  {} sample --model {}\n  {} train --resume --out {} --steps {}\n",
          settings_.out.string(), as_typed, for_shell(settings_.out.string()), as_typed,
          for_shell(settings_.out.string()), std::min(2 * settings_.steps, most_counted));
    }
    const double loss = whole_loss_ ? *whole_loss_ : validation_loss(true);
    fmt::print("validation loss {:.4f}\n", loss);
    std::fflush(stdout);
  }

  RunSettings settings_;
  Vocabulary vocabulary_;
  const FolderLock* lock_;
  std::string text_sum_;
  std::string beside_sum_;
  Dataset data_;
  Trainer trainer_;
  std::vector<LossPoint> points_;
  std::optional<double> whole_loss_;  // over the whole validation text, at the last step
  std::size_t saved_ = 0;
};

/// @param symbols  the text has at most as many
/// @param there    bytes of all this that are taken already
void require_room(const RunSettings& settings, std::size_t symbols, double there) {
  TrainingSettings trainer;
  trainer.batch = settings.batch;
  trainer.threads = settings.threads;
  const Config& config = settings.config;
  // What OpenBLAS uses of a buffer, a stack, and what the C library keeps: a few MB for each
  // thread.
  const double besides = 8e6 * static_cast<double>(1 + std::min<std::size_t>(settings.threads, 64));
  require_memory(trainer_bytes(config, config.context, trainer) +
                     mean_loss_bytes(config, symbols / 10 + 1, config.context, settings.threads) +
                     dataset_bytes(symbols) + saving_bytes(config) + besides - there,
                 fmt::format("training with {} layers, width {}, context {} and batch {}",
                             config.layers, config.width, config.context, settings.batch));
}

/// Refuses a folder that the model could not be written into: now, and not after hours of training.
/// A file on the way stands for those to come.
void require_writable(const RunSettings& settings) {
  const std::string probe(4096, ' ');
  AtomicFile(settings.out / "model.safetensors", probe);
  std::error_code error;
  const fs::space_info space = fs::space(settings.out, error);
  const double needed = 3 * model_bytes(settings.config);  // the weights, and two moments of each
  if (!error && static_cast<double>(space.available) < needed) {
    throw std::runtime_error(fmt::format(
        "the model and its optimizer need {:.0f} bytes ({:.1f} GB) in {}, but the disk has {} free",
        needed, needed / 1e9, settings.out.string(), grouped(space.available)));
  }
}

/// The text that a run was trained on, or the one that is named anew.
std::string text_to_go_on_with(const RunSettings& settings, const Metadata& metadata,
                               const Resumption& given, const std::string& name) {
  if (given.data) return text_of(settings.data);
  std::error_code ignored;
  if (fs::is_other(settings.data, ignored)) {  // a pipe has been read
    throw std::runtime_error(
        fmt::format("{} is not a regular file; {} was trained on it: name a text with --data",
                    settings.data.string(), name));
  }
  std::string text;
  try {
    text = text_of(settings.data);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        fmt::format("{}; {} was trained on it: name it with --data", error.what(), name));
  }
  if (is_same_text(text, metadata)) return text;
  if (settings.data.empty()) {
    fmt::print("The book's text has changed since: this run goes on with what it is now.\n");
    return text;
  }
  throw std::runtime_error(
      fmt::format("the text that {} was trained on has changed: name it with --data to go on with "
                  "it as it is now",
                  name));
}

std::vector<LossPoint> points_until(const fs::path& folder, std::size_t step) {
  const fs::path path = folder / "losses.csv";
  std::error_code error;
  if (!fs::exists(path, error) && !error) return {};
  std::vector<LossPoint> points =
      parse_loss_table(read_regular_file(path, most_table_bytes), path.string());
  std::erase_if(points, [&](const LossPoint& point) { return point.step > step; });
  return points;
}

}  // namespace

Schedule schedule_of(const RunSettings& settings) {
  Schedule schedule;
  schedule.highest = settings.learning_rate;
  schedule.lowest = settings.learning_rate / 10;
  schedule.warm_up = std::min<std::size_t>(100, settings.steps / 10);
  schedule.steps = settings.steps;
  return schedule;
}

std::string text_of(const fs::path& data) {
  return data.empty() ? book_text(BOOK_CHAPTERS) : read_text(data);
}

int train(const RunSettings& given) {
  RunSettings settings = given;
  const std::string text = text_of(settings.data);
  Vocabulary vocabulary(text, name_of(settings.data));
  settings.config.symbols = vocabulary.size();
  require_valid(settings.config);
  require_room(settings, text.size(), 0);
  dataset_of(text, vocabulary, settings);  // refuses a text that is too short
  std::optional<FolderLock> lock;  // ends after the folders: nobody else must use them until then
  std::optional<MadeFolders> folders;
  if (!settings.out.empty()) {
    folders.emplace(settings.out);
    lock.emplace(settings.out);
    folders->remove_if_empty();
    remove_abandoned_files(settings.out);
    require_free(settings.out);
    require_writable(settings);
  }
  Generator generator(settings.seed);
  GPT2 model(settings.config, generator);
  return Run(settings, std::move(vocabulary), std::move(model), text, lock ? &*lock : nullptr)
      .perform();
}

int resume(const RunSettings& given, const Resumption& changes) {
  RunSettings settings = given;
  const std::string name = settings.out.string();
  const FolderLock lock(settings.out);
  remove_abandoned_files(settings.out);
  LoadedModel loaded = load_model(settings.out);
  if (!loaded.vocabulary) {
    throw std::runtime_error(name + " has no characters.json: it was not trained by this program");
  }
  if (!loaded.untrainable.empty()) throw std::runtime_error(loaded.untrainable);
  take_settings(settings, loaded.metadata, changes, name);
  settings.config = loaded.model.config;
  const std::size_t step = step_of(loaded.metadata, name);
  const std::string text = text_to_go_on_with(settings, loaded.metadata, changes, name);
  require_room(settings, text.size(), model_bytes(settings.config));
  require_writable(settings);
  if (changes.steps && settings.steps < step) {
    throw std::runtime_error(
        fmt::format("{} has been trained for {} steps, more than the {} of --steps", name, step,
                    settings.steps));
  }
  Run run(settings, *loaded.vocabulary, std::move(loaded.model), text, &lock);
  if (load_optimizer(settings.out, step, run.trainer().mean, run.trainer().square) !=
      loaded.metadata) {
    throw std::runtime_error(fmt::format(
        "the optimizer of step {} in {} is not of the run that the model is of", step, name));
  }
  remove_other_optimizers(settings.out, step);  // of a run that was killed before it could
  run.trainer().steps = step;
  run.set_points(points_until(settings.out, step));
  return run.perform();
}
