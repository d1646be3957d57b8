/// @file
/// @brief How a model learns: optimizer, schedule, data, and steps on several threads, as tests.

#include <array>
#include <atomic>
#include <chrono>
#include <set>

#include "07_examples.hpp"
#include "loss.hpp"
#include "parallel.hpp"
#include "trainer.hpp"

namespace {

using slow::Table;
using slow::Way;

/// One layer, three heads, width 6, five symbols, dropout if wanted.
Example small_model(Real dropout = 0) {
  Example e = random_example({5, 4, 1, 3, 6, 1, 3, false, 401});
  e.model.config.dropout = dropout;
  return e;
}

Batch random_batch(std::size_t B, std::size_t T, std::uint64_t seed) {
  return {B, T, random_tokens(B * T, 5, seed), random_tokens(B * T, 5, seed + 1000)};
}

/// An ε that keeps rounding from growing: where a gradient is 0 but for it, as that of b_key is.
TrainingSettings usual_settings(std::size_t batch) {
  TrainingSettings settings;
  settings.batch = batch;
  settings.learning_rate = {0.02, 0.005, 2, 4};
  settings.adamw = {0.8, 0.95, 1e-3, 0.3};
  settings.clip = 0.5;
  return settings;
}

slow::Optimizer optimizer_of(const TrainingSettings& settings) {
  slow::Optimizer optimizer;
  optimizer.beta_1 = settings.adamw.beta_1;
  optimizer.beta_2 = settings.adamw.beta_2;
  optimizer.epsilon = settings.adamw.epsilon;
  optimizer.decay = settings.adamw.decay;
  optimizer.clip = settings.clip;
  return optimizer;
}

double slow_loss(const GPT2& model, const std::vector<int>& inputs, const std::vector<int>& targets,
                 std::size_t T) {
  const slow::Shape shape{T, model.config.heads, model.config.layers};
  return slow::cross_entropy(slow::model(weights_of(model), shape, inputs), targets).value;
}

slow::Matrices slow_gradients(const slow::Weights& weights, const Config& config,
                              const Batch& batch) {
  const slow::Shape shape{batch.T, config.heads, config.layers};
  return slow::gradients(weights, [&](const slow::Weights& w) {
    return slow::cross_entropy(slow::model(w, shape, batch.inputs), batch.targets);
  });
}

/// The weights after a few steps with a batch each.
slow::Matrices slow_training(const GPT2& model, const std::vector<Batch>& batches,
                             const Schedule& schedule, slow::Optimizer optimizer) {
  slow::Weights weights = weights_of(model);
  for (std::size_t step = 0; step < batches.size(); ++step) {
    const slow::Matrices gradients = slow_gradients(weights, model.config, batches[step]);
    optimizer.step(weights, gradients, schedule(step));
  }
  slow::Matrices all;
  for (const auto& [name, table] : weights) all[name] = slow::values(table);
  return all;
}

struct OptimizerMistake {
  std::string name;
  slow::Optimizer optimizer;
};

/// The usual ways to get AdamW wrong.
std::vector<OptimizerMistake> wrong_optimizers(const slow::Optimizer& right) {
  std::vector<OptimizerMistake> all;
  const auto add = [&](const std::string& name, const auto& change) {
    all.push_back({name, right});
    change(all.back().optimizer);
  };
  add("Adam's means are not corrected for beginning at 0",
      [](slow::Optimizer& o) { o.no_correction = true; });
  add("gains and biases decay, too", [](slow::Optimizer& o) { o.decay_everywhere = true; });
  add("nothing decays", [](slow::Optimizer& o) { o.decay_nowhere = true; });
  add("each tensor is clipped by its own norm",
      [](slow::Optimizer& o) { o.clip_by_tensor = true; });
  add("the gradients are not clipped", [](slow::Optimizer& o) { o.clip = 1e9; });
  add("the step is clipped, not the gradient", [](slow::Optimizer& o) { o.clip_after = true; });
  add("β1 and β2 are swapped", [](slow::Optimizer& o) { std::swap(o.beta_1, o.beta_2); });
  add("the decay is added to the gradient, and so scaled by Adam (this is Adam, not AdamW)",
      [](slow::Optimizer& o) { o.decay_in_gradient = true; });
  add("ε stands under the root", [](slow::Optimizer& o) { o.epsilon_under_root = true; });
  add("there is no ε", [](slow::Optimizer& o) { o.epsilon = 0; });
  return all;
}

/// Checks a tensor after training, and names what went wrong with the optimizer.
MatrixMatcher is_trained(const slow::Matrices& right, const std::string& name,
                         const std::function<slow::Matrices(const slow::Optimizer&)>& training,
                         const slow::Optimizer& optimizer, const slow::Matrices& before) {
  MatrixMatcher matcher = equals(right.at(name));
  matcher.unless("the weights have not moved", before.at(name));
  for (const OptimizerMistake& mistake : wrong_optimizers(optimizer)) {
    matcher.unless(mistake.name, [=] { return training(mistake.optimizer).at(name); });
  }
  return matcher;
}

/// The same for a whole model. Where several tensors are wrong it explains the first, and names the
/// others.
void check_trained(const GPT2& got, const slow::Optimizer& optimizer,
                   const std::function<slow::Matrices(const slow::Optimizer&)>& training,
                   const GPT2& before) {
  const slow::Matrices right = training(optimizer);
  const slow::Matrices tensors = tensors_of(got);
  std::vector<std::string> wrong;
  for (const auto& [name, m] : tensors) {
    if (!same(m, right.at(name))) wrong.push_back(name);
  }
  if (wrong.empty()) return;
  std::string others;
  for (std::size_t k = 1; k < wrong.size(); ++k) others += "\n  " + wrong[k];
  INFO(wrong[0] << " after training; " << wrong.size() - 1 << " more are wrong" << others);
  CHECK_THAT(tensors.at(wrong[0]),
             is_trained(right, wrong[0], training, optimizer, tensors_of(before)));
}

/// What a training run leaves, to the bit.
struct Outcome {
  std::vector<double> losses, norms;
  slow::Matrices weights, means, squares;
};

Outcome outcome_of(Trainer& trainer, const std::vector<Batch>& batches) {
  Outcome outcome;
  for (const Batch& batch : batches) {
    outcome.losses.push_back(trainer.step(batch));
    outcome.norms.push_back(trainer.gradient_norm());
  }
  outcome.weights = tensors_of(trainer.model);
  outcome.means = tensors_of(trainer.mean);
  outcome.squares = tensors_of(trainer.square);
  return outcome;
}

/// The names of tensors that differ in a bit.
std::string different(const slow::Matrices& a, const slow::Matrices& b) {
  std::string names;
  for (const auto& [name, m] : a) {
    if (!identical(m, b.at(name))) names += name + " ";
  }
  return names;
}

void check_same_bits(const Outcome& a, const Outcome& b) {
  CHECK(a.losses == b.losses);
  CHECK(a.norms == b.norms);
  CHECK(different(a.weights, b.weights).empty());
  CHECK(different(a.means, b.means).empty());
  CHECK(different(a.squares, b.squares).empty());
}

std::vector<Batch> random_batches(std::size_t count, std::size_t B, std::size_t T) {
  std::vector<Batch> batches;
  for (std::size_t k = 0; k < count; ++k) batches.push_back(random_batch(B, T, 402 + k));
  return batches;
}

/// Numbers that say where they stand in the text.
std::vector<int> counting(std::size_t size) {
  std::vector<int> text(size);
  for (std::size_t k = 0; k < size; ++k) text[k] = static_cast<int>(k);
  return text;
}

/// All losses of a text, cut into sequences of T symbols, one by one.
struct SlowLosses {
  double sum = 0;
  double of_sequences = 0;  // their means, each counted once
  double whole_ones = 0;    // without what is shorter than T
  std::size_t sequences = 0;
};

SlowLosses slow_losses(const GPT2& model, const std::vector<int>& text, std::size_t T) {
  SlowLosses losses;
  for (std::size_t first = 0; first + 1 < text.size(); first += T) {
    const std::size_t length = std::min(T, text.size() - 1 - first);
    const auto begin = text.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    const double loss = slow_loss(model, {begin, end}, {begin + 1, end + 1}, length);
    losses.sum += static_cast<double>(length) * loss;
    losses.of_sequences += loss;
    if (length == T) losses.whole_ones += static_cast<double>(T) * loss;
    ++losses.sequences;
  }
  return losses;
}

/// The numbers of a golden file as a model's tensors, in alphabetical order of their names.
void assign(GPT2& model, const std::vector<double>& numbers) {
  std::map<std::string, Row> sorted;
  for (const Parameter& parameter : model.parameters()) sorted[parameter.name] = parameter.numbers;
  auto next = numbers.begin();
  for (const auto& [name, tensor] : sorted) {
    for (Real& number : tensor) number = static_cast<Real>(*next++);
  }
  CHECK(next == numbers.end());
}

/// A model that PyTorch trained, and how.
struct GoldenModel {
  std::string folder;
  GPT2 model;
  std::vector<Batch> batches;

  std::vector<double> numbers(const std::string& file) const {
    return golden_numbers(folder + file);
  }
  GPT2 like_model(const std::string& file) const {
    GPT2 result = model;
    assign(result, numbers(file));
    return result;
  }
};

GoldenModel golden_model(const std::string& name) {
  const std::string folder = "07_gpt2_block/" + name + "/";
  std::vector<std::size_t> s;
  for (const double size : golden_numbers(folder + "sizes")) {
    s.push_back(static_cast<std::size_t>(size));
  }
  GoldenModel golden{folder, GPT2(Config{s[0], s[1], s[2], s[3], s[4]}), {}};
  if (s[7] == 1) golden.model.head = matrix(s[0], s[4]);
  assign(golden.model, golden.numbers("weights"));
  const std::size_t n = s[5] * s[6];
  const std::vector<double> symbols = golden.numbers("symbols");
  for (auto next = symbols.begin(); next != symbols.end();) {
    Batch batch{s[5], s[6], {}, {}};
    for (std::vector<int>* part : {&batch.inputs, &batch.targets}) {
      for (std::size_t k = 0; k < n; ++k) part->push_back(static_cast<int>(*next++));
    }
    golden.batches.push_back(batch);
  }
  return golden;
}

void check_tensors(const GPT2& got, const GPT2& want) {
  const slow::Matrices right = tensors_of(want);
  for (const auto& [name, m] : tensors_of(got)) {
    INFO(name);
    CHECK_THAT(m, equals(right.at(name)));
  }
}

}  // namespace

// --- the optimizer -------------------------------------------------------------------------------

TEST_CASE("AdamW corrects its means and decays matrices alone") {
  const AdamW adamw{0.8, 0.95, 1e-3, 0.3};
  const bool matrix = GENERATE(true, false);
  INFO((matrix ? "a matrix" : "a bias"));
  slow::Optimizer optimizer;
  optimizer.beta_1 = 0.8;
  optimizer.beta_2 = 0.95;
  optimizer.epsilon = 1e-3;
  optimizer.decay = 0.3;
  optimizer.clip = 1e9;
  Generator generator(411);
  const Matrix start = normal_matrix(matrix ? 2 : 1, 3, generator);
  Matrix weights = start;
  Matrix mean(start.shape(), 0);
  Matrix square(start.shape(), 0);
  std::vector<slow::Matrices> gradients;
  const auto training = [&](slow::Optimizer o) {
    slow::Weights w = {{"w", Table(start)}};
    for (const slow::Matrices& g : gradients) o.step(w, g, 0.05);
    return slow::Matrices{{"w", slow::values(w.at("w"))}};
  };
  for (std::size_t step = 1; step <= 4; ++step) {
    Matrix gradient = normal_matrix(start.shape(0), 3, generator);
    gradient(0, 0) = 0;
    gradients.push_back({{"w", gradient}});
    adamw.update(numbers(weights), numbers(mean), numbers(square), numbers(gradient), step, 0.05,
                 matrix);
    INFO("after step " << step);
    CHECK_THAT(weights, is_trained(training(optimizer), "w", training, optimizer, {{"w", start}}));
  }
}

TEST_CASE("AdamW begins with the numbers of small GPT-2s") {
  const AdamW adamw;
  CHECK(adamw.beta_1 == 0.9);
  CHECK(adamw.beta_2 == 0.99);
  CHECK(adamw.epsilon == 1e-8);
  CHECK(adamw.decay == 0.1);
  Vector weight = {2};
  Vector mean = {0};
  Vector square = {0};
  const Vector gradient = {-3};
  adamw.update(row(weight), row(mean), row(square), row(gradient), 1, 0.01, true);
  INFO("the first step is the learning rate against the gradient's sign, however large it is");
  CHECK_THAT(as_row(row(weight)), equals(number(2 - 0.01 * 0.1 * 2 + 0.01)));
  CHECK_THAT(as_row(row(mean)), equals(number(-0.3)));
  CHECK_THAT(as_row(row(square)), equals(number(0.09)));
}

TEST_CASE("the learning rate rises in a line and falls along half a cosine") {
  const Schedule schedule{1.0, 0.2, 4, 12};
  const auto is = [&](std::size_t step, double rate) {
    INFO("step " << step << ": " << schedule(step) << ", it should be " << rate);
    CHECK(std::abs(schedule(step) - rate) < 1e-12);
  };
  is(0, 0.2);
  is(1, 0.4);
  is(3, 0.8);
  is(4, 1.0);  // the highest
  is(6, 0.2 + 0.8 * (1 + std::sqrt(0.5)) / 2);
  is(8, 0.6);  // half way down
  is(12, 0.2);
  is(13, 0.2);
  is(1000, 0.2);
  for (std::size_t step = 5; step <= 12; ++step) CHECK(schedule(step) < schedule(step - 1));
  const Schedule at_once{1.0, 0.1, 0, 10};
  CHECK(at_once(0) == 1.0);
  const Schedule never_there{1.0, 0.1, 10, 5};
  CHECK_THAT(never_there(7), WithinRel(8.0 / 11, tolerance));
  CHECK(never_there(10) == 0.1);
  const Schedule usual;
  CHECK(usual(100) == 1e-3);
  CHECK(usual(2000) == 1e-4);
}

TEST_CASE("gradients are clipped when their common norm is too large and only then") {
  CHECK(clip_factor(0, 1) == 1);
  CHECK(clip_factor(0.5, 1) == 1);
  CHECK(clip_factor(1, 1) == 1);
  CHECK(clip_factor(4, 1) == 0.25);
  CHECK(clip_factor(4, 2) == 0.5);
}

// --- data ----------------------------------------------------------------------------------------

TEST_CASE("the first nine tenths of a text are for training and the rest for validation") {
  for (const auto& [size, cut] :
       {std::pair<std::size_t, std::size_t>{100, 90}, {101, 90}, {109, 98}, {40, 36}, {57, 51}}) {
    const Dataset data(counting(size), 3);
    INFO("a text of " << size << " symbols");
    CHECK(data.train.size() == cut);
    CHECK(data.train.front() == 0);
    CHECK(data.train.back() == static_cast<int>(cut) - 1);
    CHECK(data.validation.size() == size - cut);
    CHECK(data.validation.front() == static_cast<int>(cut));
    CHECK(data.validation.back() == static_cast<int>(size) - 1);
  }
  CHECK_THAT(message_of([] { Dataset(counting(30), 3); }), ContainsSubstring("its last tenth 3"));
  CHECK_THAT(message_of([] { Dataset(counting(30), 3); }),
             ContainsSubstring("The text has 30 symbols"));
  CHECK_THAT(message_of([] { Dataset({}, 1); }), ContainsSubstring("its first nine tenths 0"));
  CHECK_NOTHROW(Dataset(counting(31), 3));
}

TEST_CASE("a target is the symbol that follows its input in the text") {
  const std::size_t T = 4;
  const Dataset data(counting(60), T);  // 54 to train on
  std::set<int> beginnings;
  for (std::size_t step = 0; step < 100; ++step) {
    const Batch batch = data.draw(5, T, 42, step);
    REQUIRE(batch.B == 5);
    REQUIRE(batch.T == T);
    REQUIRE(batch.inputs.size() == 5 * T);
    REQUIRE(batch.targets.size() == 5 * T);
    for (std::size_t k = 0; k < batch.inputs.size(); ++k) {
      if (batch.targets[k] == batch.inputs[k]) FAIL("This looks like: the targets are not shifted");
      REQUIRE(batch.targets[k] == batch.inputs[k] + 1);
      if (k % T > 0) REQUIRE(batch.inputs[k] == batch.inputs[k - 1] + 1);
      REQUIRE(batch.targets[k] < 54);
    }
    for (std::size_t b = 0; b < 5; ++b) beginnings.insert(batch.inputs[b * T]);
  }
  INFO("a sequence may begin anywhere from 0 to 49, so that the last target is the last symbol");
  CHECK(beginnings.size() == 50);
  CHECK(*beginnings.begin() == 0);
  CHECK(*beginnings.rbegin() == 49);
}

TEST_CASE("the same seed and step draw the same batch and others another") {
  const Dataset data(counting(1000), 4);
  const auto drawn = [&data](std::uint64_t seed, std::size_t step) {
    return data.draw(3, 4, seed, step).inputs;
  };
  CHECK(drawn(1, 0) == drawn(1, 0));
  CHECK(drawn(1, 5) == drawn(1, 5));
  CHECK(drawn(1, 0) != drawn(1, 1));
  CHECK(drawn(1, 0) != drawn(2, 0));
  CHECK(drawn(1, 1) != drawn(2, 0));
  const std::vector<int> batch = drawn(7, 7);
  CHECK(batch[0] != batch[4]);
  CHECK(batch[4] != batch[8]);
}

TEST_CASE("seeds for the parts of a run all differ") {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (std::uint64_t step = 0; step < 20; ++step) {
      for (std::uint64_t part = 0; part < 5; ++part) {
        seeds.insert(mixed_seed(seed, step, part) % (1ULL << 32));  // all that a Generator takes
      }
    }
  }
  CHECK(seeds.size() == 500);
}

TEST_CASE("the mean loss of a text counts each symbol but the first once", "[C8]") {
  const GPT2 model = small_model().model;
  for (const std::size_t size : {2U, 4U, 5U, 13U, 14U, 25U, 27U, 31U}) {
    const std::vector<int> text = random_tokens(size, 5, 421);
    const SlowLosses slow = slow_losses(model, text, 3);
    const auto targets = static_cast<double>(size - 1);
    INFO("a text of " << size << " symbols, 3 at a time");
    CHECK_THAT(number(mean_loss(model, text, 3, 1)),
               equals(number(slow.sum / targets))
                   .unless("each sequence counts the same, however short",
                           number(slow.of_sequences / static_cast<double>(slow.sequences)))
                   .unless("what is left over at the end is not counted",
                           number(slow.whole_ones / targets))
                   .unless("the loss is summed, not averaged", number(slow.sum))
                   .unless("the sum is divided by the number of symbols, not of targets",
                           number(slow.sum / (targets + 1))));
    for (const std::size_t threads : {2U, 3U, 8U}) {
      INFO(threads << " threads");
      CHECK(mean_loss(model, text, 3, threads) == mean_loss(model, text, 3, 1));
    }
  }
  const std::vector<int> too_short = {1};
  CHECK_THAT(message_of([&] { mean_loss(model, too_short, 3, 1); }),
             ContainsSubstring("at least two symbols"));
}

TEST_CASE("a model that drops while training drops nothing when it is judged", "[A15]") {
  const std::vector<int> text = random_tokens(20, 5, 422);
  INFO("dropout is active in evaluation");
  CHECK(mean_loss(small_model(Real(0.5)).model, text, 3, 1) ==
        mean_loss(small_model().model, text, 3, 1));
}

// --- threads -------------------------------------------------------------------------------------

TEST_CASE("each piece of work is done once and by a thread that exists") {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    for (const std::size_t pieces : {0U, 1U, 3U, 40U}) {
      std::vector<std::atomic<int>> done(pieces);
      std::atomic<bool> exists = true;
      in_parallel(pieces, threads, [&](std::size_t piece, std::size_t thread) {
        ++done[piece];
        if (thread >= threads) exists = false;
      });
      CHECK(exists);
      for (const std::atomic<int>& times : done) CHECK(times == 1);
    }
  }
}

TEST_CASE("no two threads use one work space and two threads work at the same time") {
  std::array<std::atomic<bool>, 3> busy = {};
  std::atomic<bool> shared = false;
  std::atomic<int> begun = 0;
  std::atomic<bool> together = true;
  in_parallel(3, 3, [&](std::size_t, std::size_t thread) {
    if (busy.at(thread).exchange(true)) shared = true;
    ++begun;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (begun < 3 && together) {  // until all three pieces are in work
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() > limit) together = false;
    }
    busy.at(thread) = false;
  });
  CHECK(together);
  CHECK_FALSE(shared);
}

TEST_CASE("a failure on any thread reaches the caller") {
  for (const std::size_t threads : {1U, 3U}) {
    const auto fail_at = [&](std::size_t bad) {
      in_parallel(9, threads, [bad](std::size_t piece, std::size_t) {
        if (piece == bad) throw std::runtime_error("piece " + std::to_string(piece));
      });
    };
    for (const std::size_t bad : {0U, 4U, 8U}) {
      CHECK_THAT(message_of([&] { fail_at(bad); }),
                 ContainsSubstring("piece " + std::to_string(bad)));
    }
  }
}

// --- training steps ------------------------------------------------------------------------------

TEST_CASE("a training step of any batch is one of AdamW on the mean loss") {
  const std::size_t B = GENERATE(1U, 2U, 5U, 7U, 12U);
  INFO(B << " sequences");
  const Example e = small_model();
  const TrainingSettings settings = usual_settings(B);
  const std::vector<Batch> batches = random_batches(2, B, e.T);
  Trainer trainer(e.model, settings);
  const slow::Optimizer optimizer = optimizer_of(settings);
  const auto training = [&](const slow::Optimizer& o) {
    return slow_training(e.model, batches, settings.learning_rate, o);
  };

  const Batch& first = batches[0];
  const double loss = slow_loss(e.model, first.inputs, first.targets, e.T);
  double of_shards = 0;
  for (std::size_t shard = 0; shard < std::min<std::size_t>(B, 4); ++shard) {
    const std::size_t shards = std::min<std::size_t>(B, 4);
    const auto begin = static_cast<std::ptrdiff_t>(shard * B / shards * e.T);
    const auto end = static_cast<std::ptrdiff_t>((shard + 1) * B / shards * e.T);
    of_shards += slow_loss(e.model, {first.inputs.begin() + begin, first.inputs.begin() + end},
                           {first.targets.begin() + begin, first.targets.begin() + end}, e.T) /
                 static_cast<double>(shards);
  }
  const auto tokens = static_cast<double>(B * e.T);
  CHECK_THAT(
      number(trainer.step(first)),
      equals(number(loss))
          .unless("every shard counts the same, however many sequences it has", number(of_shards))
          .unless("the loss is summed, not averaged", number(loss * tokens)));
  double squares = 0;
  for (const auto& [name, g] : slow_gradients(weights_of(e.model), e.model.config, first)) {
    squares += weighted_sum(g, g);
  }
  const double norm = std::sqrt(squares);
  CHECK_THAT(number(trainer.gradient_norm()),
             equals(number(norm))
                 .unless("the norm is that of the gradients after clipping",
                         number(std::min(norm, settings.clip)))
                 .unless("the norm is not the root of the sum of squares", number(squares)));
  CHECK(trainer.steps == 1);
  trainer.step(batches[1]);
  CHECK(trainer.steps == 2);
  INFO("after two steps");
  check_trained(trainer.model, optimizer, training, e.model);
}

TEST_CASE("a tensor of many numbers is trained to its last") {
  Example e = random_example({4200, 2, 1, 2, 4, 1, 2, false, 436});  // 16,800 in the embedding
  TrainingSettings settings = usual_settings(1);
  settings.threads = 2;
  const Batch batch = {1, 2, {7, 4199}, {4198, 0}};
  const auto training = [&](const slow::Optimizer& o) {
    return slow_training(e.model, {batch}, settings.learning_rate, o);
  };
  Trainer trainer(e.model, settings);
  trainer.step(batch);
  check_trained(trainer.model, optimizer_of(settings), training, e.model);
}

TEST_CASE("any number of threads gives the same bits") {
  const Real dropout = GENERATE(Real(0), Real(0.3));
  const std::size_t B = GENERATE(1U, 3U, 7U);
  INFO(B << " sequences, dropout " << dropout);
  const Example e = small_model(dropout);
  const std::vector<Batch> batches = random_batches(3, B, e.T);
  const auto run = [&](std::size_t threads) {
    TrainingSettings settings = usual_settings(B);
    settings.threads = threads;
    Trainer trainer(e.model, settings);
    return outcome_of(trainer, batches);
  };
  const Outcome alone = run(1);
  for (const std::size_t threads : {2U, 3U, 8U}) {
    INFO(threads << " threads against one");
    check_same_bits(run(threads), alone);
  }
}

TEST_CASE("a run that is taken up again goes on with the same bits") {
  const Example e = small_model(Real(0.3));
  const TrainingSettings settings = usual_settings(5);
  const std::vector<Batch> batches = random_batches(4, 5, e.T);
  Trainer uninterrupted(e.model, settings);
  const Outcome whole = outcome_of(uninterrupted, batches);

  Trainer begun(e.model, settings);
  outcome_of(begun, {batches[0], batches[1]});
  Trainer resumed(begun.model, settings);
  resumed.steps = begun.steps;
  for (const auto& [to, from] :
       {std::pair{&resumed.mean, &begun.mean}, std::pair{&resumed.square, &begun.square}}) {
    const std::vector<Parameter> target = to->parameters();
    const std::vector<Parameter> source = from->parameters();
    for (std::size_t k = 0; k < target.size(); ++k) {
      std::copy(source[k].numbers.begin(), source[k].numbers.end(), target[k].numbers.begin());
    }
  }
  const Outcome rest = outcome_of(resumed, {batches[2], batches[3]});
  CHECK(rest.losses == std::vector<double>(whole.losses.begin() + 2, whole.losses.end()));
  CHECK(different(rest.weights, whole.weights).empty());
}

TEST_CASE("training drops anew in every step and in every part of a batch", "[A15]") {
  const Batch four = {4, 2, {1, 2, 1, 2, 1, 2, 1, 2}, {2, 3, 2, 3, 2, 3, 2, 3}};
  const Batch one = {1, 2, {1, 2}, {2, 3}};
  const auto losses = [](Real dropout, const Batch& batch, std::uint64_t seed) {
    TrainingSettings settings = usual_settings(batch.B);
    settings.learning_rate = {0, 0, 0, 1};  // so that nothing but dropout makes a difference
    settings.seed = seed;
    Trainer trainer(small_model(dropout).model, settings);
    return outcome_of(trainer, {batch, batch}).losses;
  };
  CHECK(losses(0, four, 1)[0] == losses(0, four, 1)[1]);
  INFO("dropout is off while training, or drops the same numbers in each step");
  CHECK(losses(Real(0.5), four, 1)[0] != losses(Real(0.5), four, 1)[1]);
  CHECK(losses(Real(0.5), four, 1)[0] != losses(0, four, 1)[0]);
  CHECK(losses(Real(0.5), four, 1)[0] != losses(Real(0.5), four, 2)[0]);
  CHECK(losses(Real(0.5), four, 1) == losses(Real(0.5), four, 1));
  INFO("every shard drops the same numbers");
  CHECK(std::abs(losses(Real(0.5), four, 1)[0] - losses(Real(0.5), one, 1)[0]) > 1e-4);
}

TEST_CASE("the loss of a tiny text goes down") {
  Generator generator(431);
  const GPT2 start(Config{3, 4, 1, 3, 6}, generator);
  TrainingSettings settings;
  settings.batch = 4;
  settings.learning_rate = {0.1, 0.01, 3, 50};
  Trainer trainer(start, settings);
  std::vector<int> text;
  for (int k = 0; k < 100; ++k) text.push_back(k % 3);
  const Dataset data(text, 4);
  const double first = mean_loss(trainer.model, data.validation, 4, 1);
  for (std::size_t step = 0; step < 50; ++step) trainer.step(data.draw(4, 4, 1, step));
  const double last = mean_loss(trainer.model, data.validation, 4, 1);
  INFO("the loss went from " << first << " to " << last);
  CHECK_THAT(first, WithinRel(std::log(3), 0.1));
  CHECK(last < 0.2 * first);
}

TEST_CASE("a step that diverges says so and leaves everything as it was") {
  const Example e = small_model();
  TrainingSettings settings = usual_settings(5);
  const std::vector<Batch> batches = random_batches(3, 5, e.T);
  Trainer trainer(e.model, settings);
  trainer.step(batches[0]);
  const Outcome before = outcome_of(trainer, {});
  Real& weight = trainer.model.blocks[0].feed_forward.W_up(0, 0);
  const Real healthy = weight;
  weight = std::numeric_limits<Real>::quiet_NaN();
  INFO("the message is a sentence with the number of the step");
  CHECK_THAT(message_of([&] { trainer.step(batches[1]); }),
             ContainsSubstring("In step 2 the loss is nan"));
  CHECK_THAT(message_of([&] { trainer.step(batches[1]); }),
             ContainsSubstring("a smaller learning rate may help"));
  CHECK(trainer.steps == 1);
  weight = healthy;
  const Outcome after = outcome_of(trainer, {});
  CHECK(different(after.weights, before.weights).empty());
  CHECK(different(after.means, before.means).empty());
  CHECK(different(after.squares, before.squares).empty());

  Batch unknown_symbol = batches[1];
  unknown_symbol.inputs.back() = 5;
  CHECK_THAT(message_of([&] { trainer.step(unknown_symbol); }), ContainsSubstring("no symbol 5"));
  CHECK(trainer.steps == 1);
  INFO("gradients of the step that failed are left in the next");
  trainer.step(batches[1]);
  Trainer undisturbed(e.model, settings);
  undisturbed.step(batches[0]);
  undisturbed.step(batches[1]);
  CHECK(different(tensors_of(trainer.model), tensors_of(undisturbed.model)).empty());
}

TEST_CASE("a gradient that is not finite stops training as well as a loss") {
  const Example e = small_model();
  Trainer trainer(e.model, usual_settings(2));
  // The row of a token is brought to variance 1 whatever its size, but its gradient is not.
  trainer.model.norm.gain.fill(std::numeric_limits<Real>::max() / 4);
  const slow::Matrices before = tensors_of(trainer.model);
  CHECK_THAT(message_of([&] { trainer.step(random_batch(2, e.T, 432)); }),
             ContainsSubstring("training has diverged"));
  CHECK(different(tensors_of(trainer.model), before).empty());
}

TEST_CASE("a batch of another size than the trainer was made for is refused") {
  Trainer trainer(small_model().model, usual_settings(4));
  CHECK_THAT(message_of([&] { trainer.step(random_batch(3, 3, 433)); }),
             ContainsSubstring("3 sequences, but the trainer was made for 4"));
}

TEST_CASE("nobody to work and nothing to work on are refused") {
  const GPT2 model = small_model().model;
  TrainingSettings settings = usual_settings(0);
  CHECK_THAT(message_of([&] { Trainer(model, settings); }), ContainsSubstring("0 sequences"));
  settings = usual_settings(2);
  settings.threads = 0;
  CHECK_THAT(message_of([&] { Trainer(model, settings); }), ContainsSubstring("0 threads"));
  const std::vector<int> text = {1, 2, 3};
  CHECK_THAT(message_of([&] { mean_loss(model, text, 0, 1); }), ContainsSubstring("0 symbols"));
  CHECK_THAT(message_of([&] { mean_loss(model, text, 3, 0); }), ContainsSubstring("0 threads"));
}

TEST_CASE("after the first a training step allocates nothing of the size of an activation") {
  const std::size_t T = 24;
  for (const double dropout : {0.0, 0.5}) {
    Generator generator(434);
    const GPT2 start(Config{5, T, 1, 3, 6, static_cast<Real>(dropout)}, generator);
    TrainingSettings settings = usual_settings(6);  // shards of one and of two sequences
    settings.threads = 2;
    Trainer trainer(start, settings);
    const Batch batch = random_batch(6, T, 435);
    trainer.step(batch);
    const std::size_t activation = T * 6 * sizeof(Real);  // one sequence, (T, width)
    for (int k = 0; k < 20; ++k) {                        // which thread gets which shard is chance
      const std::size_t before = allocated_bytes();
      trainer.step(batch);
      const std::size_t all = allocated_bytes() - before;
      INFO("a step allocates " << all << " bytes of tensors; one activation has " << activation);
      CHECK(all < activation);
    }
  }
}

TEST_CASE("the memory of training and of judging is known before it is asked for") {
  const std::size_t T = 40;
  Generator generator(436);
  GPT2 start(Config{7, T, 2, 3, 24}, generator);
  for (const std::size_t B : std::vector<std::size_t>{2, 5, 8}) {
    start.config.dropout = B == 5 ? static_cast<Real>(0.1) : Real{0};
    for (const std::size_t threads : std::vector<std::size_t>{1, 3}) {
      TrainingSettings settings = usual_settings(B);
      settings.threads = threads;
      const double foreseen = trainer_bytes(start.config, T, settings);
      const std::size_t before = allocated_bytes();
      Trainer trainer(start, settings);
      trainer.step(random_batch(B, T, 437));
      const double taken = static_cast<double>(allocated_bytes() - before);
      INFO(B << " sequences, " << threads << " threads: " << foreseen << " bytes foreseen, "
             << taken);
      CHECK(taken < foreseen);
      CHECK(taken > 0.7 * foreseen);
    }
  }
  const std::vector<int> text(8 * T + 1, 1);
  for (const std::size_t threads : std::vector<std::size_t>{1, 2}) {
    const double foreseen = mean_loss_bytes(start.config, text.size(), T, threads);
    const std::size_t before = allocated_bytes();
    mean_loss(start, text, T, threads);
    const double taken = static_cast<double>(allocated_bytes() - before);
    INFO(threads << " threads judge: " << foreseen << " bytes foreseen, " << taken);
    CHECK(taken <= foreseen);
    CHECK(taken > 0.4 * foreseen);  // one thread may have done it all
  }
}

// --- PyTorch -------------------------------------------------------------------------------------

TEST_CASE("PyTorch computes the same logits and losses and gradients and trained weights", "[C8]") {
  for (const std::string name : {"two_layers", "own_head", "five_sequences"}) {
    INFO(name);
    const GoldenModel golden = golden_model(name);
    const Batch& first = golden.batches.at(0);
    ModelPass pass(golden.model.config, first.B, first.T);
    golden.model.forward(pass, first.inputs);
    Matrix logits = pass.logits;
    const std::vector<double> right = golden.numbers("logits");
    std::transform(right.begin(), right.end(), logits.begin(),
                   [](double x) { return static_cast<Real>(x); });
    CHECK_THAT(pass.logits, equals(logits));
    cross_entropy(pass.logits, first.targets);
    cross_entropy_backward(pass.logits, first.targets, 1);
    GPT2 gradient = zeros_like(golden.model);
    golden.model.backward(gradient, pass.logits, pass, first.inputs);
    check_tensors(gradient, golden.like_model("gradient"));

    TrainingSettings settings;
    settings.batch = first.B;
    settings.learning_rate = {1e-2, 1e-3, 2, 4};
    settings.adamw = {0.9, 0.95, 1e-3, 0.3};
    settings.clip = 0.5;
    Trainer trainer(golden.model, settings);
    const Outcome outcome = outcome_of(trainer, golden.batches);
    const std::vector<double> losses = golden.numbers("losses");
    const std::vector<double> norms = golden.numbers("norms");
    REQUIRE(outcome.losses.size() == losses.size());
    for (std::size_t k = 0; k < losses.size(); ++k) {
      INFO("step " << k + 1);
      CHECK_THAT(number(outcome.losses[k]), equals(number(losses[k])));
      CHECK_THAT(number(outcome.norms[k]), equals(number(norms[k])));
    }
    check_tensors(trainer.model, golden.like_model("trained"));
  }
}
