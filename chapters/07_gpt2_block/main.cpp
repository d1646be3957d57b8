/// @file
/// @brief The demo of chapter 07: a block step by step, what it costs to stack twelve, and how it
/// learns; then, if asked for, a small GPT-2 that learns to write. With `train`, `sample` or
/// `evaluate` as its first argument the program does that instead.

#include <algorithm>

#include "adamw.hpp"
#include "commands.hpp"
#include "common/command.hpp"
#include "common/measure.hpp"
#include "common/memory.hpp"
#include "loss.hpp"
#include "parallel.hpp"
#include "sampling.hpp"
#include "train.hpp"

namespace {

/// What this chapter lets the reader choose.
struct Choices {
  std::size_t width = 4;
  std::size_t heads = 2;
  std::size_t steps = 0;
};

/// A block with weights as the chapters before have drawn them: large enough to see what they do.
Block drawn_block(const Choices& choices, Generator& generator) {
  const std::size_t width = choices.width;
  Block block(width, choices.heads);
  for (Matrix* W : {&block.attention.W_query, &block.attention.W_key, &block.attention.W_value,
                    &block.attention.W_out}) {
    *W = linear_weights(width, width, generator);
  }
  block.feed_forward.W_up = linear_weights(width, 4 * width, generator);
  block.feed_forward.W_down = linear_weights(4 * width, width, generator);
  return block;
}

BlockPass pass_of(const Block& block, const Matrix& X) {
  BlockPass pass(1, X.shape(0), X.shape(1), block.attention.n_heads);
  block.forward(pass, X, causal_mask(X.shape(0)));
  return pass;
}

/// Mean and variance of each row, (n, 2).
Matrix moments(const Matrix& m) {
  Matrix result(Matrix::shape_type{m.shape(0), 2});
  for (std::size_t i = 0; i < m.shape(0); ++i) {
    const Real mean = sum_of(row(m, i)) / static_cast<Real>(m.shape(1));
    const Matrix centered = row_of(m, i) - mean;
    result(i, 0) = mean;
    result(i, 1) = dot(numbers(centered), numbers(centered)) / static_cast<Real>(m.shape(1));
  }
  return result;
}

std::size_t rows_moved(const Matrix& before, const Matrix& after) {
  std::size_t moved = 0;
  for (std::size_t i = 0; i < before.shape(0); ++i) {
    moved += row_of(before, i) == row_of(after, i) ? 0 : 1;
  }
  return moved;
}

void show_embedding(const Sequence& input, Report& report) {
  report.section("embedding", "A token's vector plus its place's");
  const Labels columns = numbered("x", input.X.shape(1));
  report.matrix({"token_embeddings", "", input.tokens, columns}, input.token_embeddings);
  report.matrix({"position_embeddings", "", input.tokens, columns}, input.position_embeddings);
  report.matrix({"X", "their sum", input.tokens, columns}, input.X);
}

void show_norm(const Sequence& input, const BlockPass& pass, Report& report) {
  report.section("norm", "Layer norm: each row to mean 0 and variance 1");
  const Labels columns = numbered("n", input.X.shape(1));
  report.matrix({"moments_before", "of X", input.tokens, {"mean", "variance"}}, moments(input.X));
  report.matrix({"normalized", "norm_1(X)", input.tokens, columns}, pass.norm_1.output);
  report.matrix({"moments_after", "of norm_1(X)", input.tokens, {"mean", "variance"}},
                moments(pass.norm_1.output));
}

void show_attention(const Sequence& input, const BlockPass& pass, Report& report) {
  report.section("attention", "Attention reads the normed rows");
  const Labels columns = numbered("o", input.X.shape(1));
  for (std::size_t h = 0; h < pass.attention.heads.size(); ++h) {
    report.matrix({fmt::format("weights_of_head_{}", h + 1), "", input.tokens, input.tokens},
                  pass.attention.heads[h].weights);
  }
  report.matrix({"attention_output", "context W_out + b_out", input.tokens, columns},
                pass.attention.output);
  report.matrix({"middle", "X + the attention's output", input.tokens, columns}, pass.middle);
}

void show_feed_forward(const Sequence& input, const BlockPass& pass, Report& report) {
  report.section("feed_forward", "The feed-forward network works on each row alone");
  const std::size_t width = input.X.shape(1);
  report.matrix({"up", "norm_2(middle) W_up + b_up", input.tokens, numbered("u", 4 * width)},
                pass.feed_forward.up);
  report.matrix({"bent", "GELU(up)", input.tokens, numbered("u", 4 * width)},
                pass.feed_forward.bent);
  report.matrix({"output", "middle + bent W_down + b_down", input.tokens, numbered("y", width)},
                pass.output);
}

void show_gelu(Report& report) {
  report.section("gelu", "GELU beside its relatives");
  const std::vector<Real> points = {-3, -1, static_cast<Real>(-0.5), 0, static_cast<Real>(0.5),
                                    1,  3};
  const Matrix x = column(points);
  Matrix gelu(x.shape());
  Matrix tangent(x.shape());
  Gelu::forward(gelu, tangent, x);
  Matrix table(Matrix::shape_type{points.size(), 4});
  for (std::size_t i = 0; i < points.size(); ++i) {
    table(i, 0) = points[i];
    table(i, 1) = gelu(i, 0);
    table(i, 2) = points[i] / 2 * (1 + std::erf(points[i] / std::numbers::sqrt2_v<Real>));
    table(i, 3) = std::max(points[i], Real{0});
  }
  report.matrix({"table", "", {}, {"x", "GELU", "with erf", "ReLU"}, 5}, table);
}

/// What the first token can change, in a block as it is and in one whose attention says nothing.
void show_who_moves_whom(const Sequence& input, const Block& block, Report& report) {
  report.section("moves", "Only attention carries anything from token to token");
  const std::size_t T = input.X.shape(0);
  Matrix changed = input.X;
  xt::view(changed, 0, xt::all()) *= 2;
  Block deaf = block;
  deaf.attention.W_out.fill(0);
  Block silent = deaf;
  silent.feed_forward.W_down.fill(0);
  const std::string of_all = fmt::format("of {} rows move when the first token changes", T);
  report.count("rows_moved",
               rows_moved(pass_of(block, input.X).output, pass_of(block, changed).output), of_all);
  report.count("rows_moved_without_attention",
               rows_moved(pass_of(deaf, input.X).output, pass_of(deaf, changed).output),
               of_all + ", with W_out = 0");
  report.check("identity", pass_of(silent, input.X).output == input.X,
               "with W_down = 0 as well, the block hands its input on to the last bit");
}

void show_sizes(Report& report) {
  report.section("sizes", "What twelve blocks cost");
  const Config gpt2{50257, 1024, 12, 12, 768};
  const std::size_t block =
      parameter_count({1, 1, 2, 12, 768}) - parameter_count({1, 1, 1, 12, 768});
  report.count("token_embedding", gpt2.symbols * gpt2.width,
               "numbers in the token embedding, which is the head as well");
  report.count("position_embedding", gpt2.context * gpt2.width, "in the position embedding");
  report.count("block", block, "in one block");
  report.count("gpt2", parameter_count(gpt2),
               "in GPT-2: 12 layers, 12 heads, width 768, context 1,024, 50,257 symbols");
  report.count("small", parameter_count({100, 64, 4, 4, 128}),
               "in a model of this chapter: 4 layers, 4 heads, width 128, context 64, 100 symbols");
}

void show_loss(Report& report) {
  report.section("loss", "How wrong a guess is");
  const std::vector<int> targets = {0, 0, 0};
  const Matrix logits = {{2, 1, -1}, {0, 0, 0}, {-1, 1, 2}};
  Matrix shares = logits;
  const Labels symbols = {"a", "b", "c"};
  const Labels guesses = {"guess 1", "guess 2", "guess 3"};
  const double loss = cross_entropy(shares, targets);
  report.matrix({"logits", "three guesses at the next symbol", guesses, symbols, 1}, logits);
  report.matrix({"shares", "their softmax", guesses, symbols}, shares);
  report.say("The symbol that comes is a, each time.");
  Matrix losses(Matrix::shape_type{3, 1});
  for (std::size_t i = 0; i < 3; ++i) losses(i, 0) = -std::log(shares(i, 0));
  report.matrix({"losses", "-ln of the share of a", guesses, {"loss"}}, losses);
  report.number("mean", loss, 4, "their mean");
  cross_entropy_backward(shares, targets, 1);
  report.matrix({"gradient", "in the logits", guesses, symbols}, shares);
  Matrix better = logits - 3 * shares;
  report.matrix({"better", "logits - 3 gradient", guesses, symbols}, better);
  report.number("mean_of_better", cross_entropy(better, targets), 4, "their mean loss");
}

/// The loss of a small model as one of its weights changes, and what `backward` says about it.
void show_gradient(const Options& options, Report& report) {
  report.section("gradient", "A gradient, and the same by trying");
  const Config config{5, 4, 2, 2, 8};
  const std::vector<int> tokens = {0, 1, 2, 3};
  const std::vector<int> targets = {1, 2, 3, 4};
  Generator generator(options.seed);
  GPT2 model(config, generator);
  ModelPass pass(config, 1, 4);
  const auto loss = [&] {
    model.forward(pass, tokens);
    return cross_entropy(pass.logits, targets);
  };
  GPT2 gradient = zeros_like(model);
  report.number("loss", loss(), 4, fmt::format("at the beginning; ln 5 is {:.4f}", std::log(5.0)));
  cross_entropy_backward(pass.logits, targets, 1);
  model.backward(gradient, pass.logits, pass, tokens);
  Real& weight = model.token_embedding(1, 3);
  const Real step = static_cast<Real>(0.001);
  const Real before = weight;
  weight = before + step;
  const double above = loss();
  weight = before - step;
  const double below = loss();
  report.number("by_backward", static_cast<double>(gradient.token_embedding(1, 3)), 3,
                "the slope in one number of the token embedding, by backward");
  report.number("by_trying", (above - below) / (2 * static_cast<double>(step)), 3,
                "the same, from the loss a little above and a little below");
  const Attention& slopes = gradient.blocks[1].attention;
  report.check("b_key_is_idle",
               max_of(xt::abs(slopes.b_key)) < max_of(xt::abs(slopes.b_query)) / 1000,
               "the gradient of b_key is 0 but for rounding, and that of b_query is not");
}

/// What the first steps of AdamW do to a weight of 0, for gradients of very different sizes.
void show_adamw(Report& report) {
  report.section("adamw", "Three steps of AdamW, for gradients of very different sizes");
  Matrix table(Matrix::shape_type{3, 4});
  const std::vector<Real> sizes = {static_cast<Real>(0.001), 1, 1000};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Vector weight = {0};
    Vector mean = {0};
    Vector square = {0};
    const Vector gradient = {sizes[i]};
    table(i, 0) = sizes[i];
    for (std::size_t step = 1; step <= 3; ++step) {
      AdamW{}.update(row(weight), row(mean), row(square), row(gradient), step, 0.01, false);
      table(i, step) = weight(0);
    }
  }
  report.matrix({"weights", "", {}, {"gradient", "step 1", "step 2", "step 3"}, 3}, table);
}

void show_schedule(Report& report) {
  report.section("schedule", "The learning rate over 2,000 steps");
  const Schedule schedule;
  const std::vector<std::size_t> steps = {0, 50, 100, 1050, 1999};
  Labels names;
  Matrix rates(Matrix::shape_type{steps.size(), 1});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    names.push_back(fmt::format("step {}", grouped(steps[i] + 1)));
    rates(i, 0) = static_cast<Real>(schedule(steps[i]));
  }
  report.matrix({"rates", "", names, {"rate"}, 5}, rates);
}

void require_room(const Sequence& input, const Choices& choices) {
  const Config config{1, input.tokens.size(), 1, choices.heads, choices.width};
  require_memory(pass_bytes(config, 1, config.context),
                 fmt::format("a block over {} tokens", grouped(config.context)));
}

void demonstrate(const Options& options, const Choices& choices, Report& report) {
  require_divisible(choices.width, "columns (--width)", choices.heads, "heads");
  const Sequence input = embed(split_words(options.text), choices.width, options.positions);
  require_room(input, choices);
  Generator generator(options.seed);
  const Block block = drawn_block(choices, generator);
  const BlockPass pass = pass_of(block, input.X);
  show_embedding(input, report);
  show_norm(input, pass, report);
  show_attention(input, pass, report);
  show_feed_forward(input, pass, report);
  show_gelu(report);
  show_who_moves_whom(first_tokens(input, 16), block, report);
  show_sizes(report);
  show_loss(report);
  show_gradient(options, report);
  show_adamw(report);
  show_schedule(report);
  report.panel("X", input.X, input.tokens, numbered("x", choices.width));
  report.panel("norm_1(X)", pass.norm_1.output, input.tokens, numbered("n", choices.width));
  report.panel("X + attention", pass.middle, input.tokens, numbered("o", choices.width));
  report.panel("block's output", pass.output, input.tokens, numbered("y", choices.width));
}

/// Trains the small model on the book's text; its folder is not kept.
int train_small(std::uint64_t seed, std::size_t steps) {
  fmt::print("\n== A small GPT-2 learns to write ==\n");
  RunSettings settings;
  settings.seed = seed;
  settings.steps = steps;
  settings.threads = usual_threads();
  const int code = train(settings);
  if (code == 0) {
    fmt::print(
        "To train longer, on your own text, and keep the model:\n"
        "  ./chapters/run 7 -- train --steps 5000 --data my.txt --out build/my_model\n"
        "  ./chapters/run 7 -- sample --model build/my_model --prompt \"The \"\n");
  }
  return code;
}

int run_walk(int argc, char** argv) {
  Choices choices;
  std::uint64_t seed = 0;
  bool train_after = false;
  Command command(
      "07_gpt2_block",
      "Chapter 07: GPT-2's block step by step, and a small GPT-2 that learns to write.");
  command.add_count("--width", choices.width, "Numbers in a token's vector", 1, 1024);
  command.add_count("--heads", choices.heads, "Number of heads", 1, 64);
  command.add_count("--steps", choices.steps, "Steps of training after the walk; none with --json",
                    0, 1000000);
  command.add_note(
      "Three commands stand before options of their own, which they name with --help:\n"
      "  07_gpt2_block train      trains a GPT-2 on a text, and keeps it in a folder\n"
      "  07_gpt2_block sample     lets it write\n"
      "  07_gpt2_block evaluate   measures its loss on a text");
  const int code = command.run(argc, argv, [&](const Options& options, Report& report) {
    demonstrate(options, choices, report);
    seed = options.seed;
    train_after = !options.json && choices.steps > 0;
  });
  if (code != 0 || !train_after) return code;
  CommandLine line("07_gpt2_block", "");
  return line.run(1, argv, [&] { return train_small(seed, choices.steps); });
}

}  // namespace

int main(int argc, char** argv) {
  use_one_thread_a_product();
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "train") return train_command(argc - 1, argv + 1);
  if (name == "sample") return sample_command(argc - 1, argv + 1);
  if (name == "evaluate") return evaluate_command(argc - 1, argv + 1);
  return run_walk(argc, argv);
}
