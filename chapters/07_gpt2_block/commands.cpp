#include "commands.hpp"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "checkpoint.hpp"
#include "common/command.hpp"
#include "common/memory.hpp"
#include "common/text.hpp"
#include "parallel.hpp"
#include "sampling.hpp"
#include "train.hpp"

namespace {

constexpr std::size_t most = 1'000'000'000;  // of anything that is counted
constexpr const char* default_folder = "build/gpt2";

void add_threads(CommandLine& line, std::size_t& threads) {
  threads = usual_threads();
  line.add_count("--threads", threads, "Threads; the result is the same for any number", 1, 1024);
}

void add_sizes(CommandLine& line, RunSettings& settings) {
  line.add_count("--layers", settings.config.layers, "Blocks", 1, most);
  line.add_count("--heads", settings.config.heads, "Heads of each block's attention", 1, most);
  line.add_count("--width", settings.config.width, "Numbers in a token's vector", 1, most);
  line.add_count("--context", settings.config.context, "The most symbols it reads at once", 1,
                 most);
}

/// A list of numbers, as a model without characters reads and writes it.
std::vector<int> numbers_in(const std::string& text, std::size_t symbols) {
  std::vector<int> numbers;
  const char* at = text.data() + byte_order_mark_length(text);
  const char* end = text.data() + text.size();
  while (true) {
    while (at != end && std::string_view(" ,\t\r\n").find(*at) != std::string_view::npos) ++at;
    if (at == end) return numbers;
    int number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0 || static_cast<std::size_t>(number) >= symbols) {
      throw std::invalid_argument(
          fmt::format("This model has no characters.json, so its text is a list of numbers from 0 "
                      "to {}: \"{}\" is none",
                      symbols - 1, std::string(at, std::min(end, at + 20))));
    }
    numbers.push_back(number);
    at = stop;
  }
}

std::vector<int> symbols_of(const std::string& text, const LoadedModel& loaded,
                            const std::string& name) {
  if (loaded.vocabulary) return loaded.vocabulary->encode(text, name);
  return numbers_in(text, loaded.model.config.symbols);
}

std::string text_for(int symbol, const LoadedModel& loaded) {
  if (loaded.vocabulary) return loaded.vocabulary->decode({symbol});
  return fmt::format("{} ", symbol);
}

struct SampleSettings {
  std::string folder = default_folder;
  std::string prompt = "\n";
  bool has_prompt = false;  // one that was given
  std::size_t length = 500;
  std::uint64_t seed = 42;
  Sampling sampling;
};

int sample(const SampleSettings& settings) {
  const LoadedModel loaded = load_model(settings.folder);
  if (!loaded.vocabulary && !settings.has_prompt) {
    throw std::runtime_error(
        fmt::format("{} has no characters.json, so the model reads and writes the numbers of its "
                    "tokens, from 0 "
                    "to {}: name some that it goes on from, for example --prompt \"1 2 3\"",
                    settings.folder, loaded.model.config.symbols - 1));
  }
  const bool fits = settings.has_prompt || loaded.vocabulary->knows('\n');
  std::vector<int> text{0};
  if (fits) text = symbols_of(settings.prompt, loaded, "the prompt");
  const std::size_t T = std::min(loaded.model.config.context, text.size() + settings.length);
  Config drops_nothing = loaded.model.config;
  drops_nothing.dropout = 0;
  require_memory(pass_bytes(drops_nothing, 1, T), fmt::format("reading {} symbols at once", T));
  Generator generator(settings.seed);
  if (settings.has_prompt) fmt::print("{}{}", settings.prompt, loaded.vocabulary ? "" : " ");
  continue_text(loaded.model, std::move(text), settings.length, settings.sampling, generator,
                [&](int symbol) {
                  fmt::print("{}", text_for(symbol, loaded));
                  return std::fflush(stdout) == 0;
                });
  fmt::print("\n");
  return 0;
}

struct EvaluateSettings {
  std::string folder = default_folder;
  std::string data;
  std::size_t threads = 1;
};

int evaluate(const EvaluateSettings& settings) {
  const LoadedModel loaded = load_model(settings.folder);
  const Config& config = loaded.model.config;
  const std::string name = settings.data.empty() ? "the book's text" : settings.data;
  const Dataset data(symbols_of(text_of(settings.data), loaded, name), config.context);
  require_memory(mean_loss_bytes(config, data.train.size(), config.context, settings.threads),
                 fmt::format("evaluating on {} threads", settings.threads));
  for (const auto& [loss_name, part] : {std::pair{"loss on the first nine tenths", &data.train},
                                        {"validation loss", &data.validation}}) {
    const double loss = mean_loss(loaded.model, *part, config.context, settings.threads);
    if (!std::isfinite(loss)) {
      throw std::runtime_error(
          fmt::format("the {} of the model in {} is {}: its weights are of no use", loss_name,
                      settings.folder, std::abs(loss)));
    }
    fmt::print("{} {:.4f}\n", loss_name, loss);
  }
  return 0;
}

}  // namespace

int train_command(int argc, char** argv) {
  CommandLine line("07_gpt2_block train",
                   "Trains a GPT-2 to write like a text, character by character.");
  RunSettings settings;
  std::string data;
  std::string out = default_folder;
  double dropout = 0;
  bool goes_on = false;
  line.add_path("--data", data, "The text to learn from; without it the book's own", "FILE");
  add_sizes(line, settings);
  line.add_count("--batch", settings.batch, "Sequences in a step", 1, most);
  line.add_count("--steps", settings.steps, "Steps in all", 1, most);
  line.add_number("--learning-rate", settings.learning_rate, "The highest, after the warm-up", 0,
                  1e30);
  line.add_number("--dropout", dropout, "The share that is dropped while training", 0, 0.99);
  line.add_seed(settings.seed);
  line.add_count("--every", settings.every,
                 "Steps between two looks at the validation loss, with a saving each", 1, most);
  line.add_path("--out", out, "Where the model is kept, as Hugging Face's library reads it",
                "FOLDER");
  line.add_flag("--resume", goes_on,
                "Go on with the model in the folder, with the settings it was begun with");
  add_threads(line, settings.threads);
  return line.run(argc, argv, [&] {
    settings.data = data;
    settings.out = out;
    settings.config.dropout = static_cast<Real>(dropout);
    if (!goes_on) return train(settings);
    for (const char* fixed : {"--layers", "--heads", "--width", "--context", "--batch",
                              "--learning-rate", "--dropout", "--seed"}) {
      if (line.given(fixed)) {
        throw std::invalid_argument(fmt::format(
            "{} cannot be changed with --resume: the run would not go on as it began", fixed));
      }
    }
    return resume(settings, {line.given("--steps"), line.given("--every"), line.given("--data")});
  });
}

int sample_command(int argc, char** argv) {
  CommandLine line("07_gpt2_block sample", "Lets a trained model write.");
  SampleSettings settings;
  line.add_path("--model", settings.folder, "The model's folder", "FOLDER");
  line.add_text("--prompt", settings.prompt,
                "The text it goes on from; a line's end if none is given");
  line.add_count("--length", settings.length, "Symbols to write", 0, most);
  line.add_number("--temperature", settings.sampling.temperature,
                  "Above 1 bolder, below 1 more decided, 0 always the likeliest", 0, 1e6);
  line.add_count("--top-k", settings.sampling.top_k,
                 "Draw among the likeliest ones only; 0: among all", 0, most);
  line.add_seed(settings.seed);
  return line.run(argc, argv, [&] {
    settings.has_prompt = line.given("--prompt");
    return sample(settings);
  });
}

int evaluate_command(int argc, char** argv) {
  CommandLine line("07_gpt2_block evaluate", "Measures how well a model foresees a text.");
  EvaluateSettings settings;
  line.add_path("--model", settings.folder, "The model's folder", "FOLDER");
  line.add_path("--data", settings.data, "The text; without it the book's own", "FILE");
  add_threads(line, settings.threads);
  return line.run(argc, argv, [&] { return evaluate(settings); });
}
