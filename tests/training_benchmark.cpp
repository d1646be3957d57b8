/// @file
/// @brief How long a step of training takes, and how long its matrix products take alone.
///
/// usage: training_benchmark LAYERS HEADS WIDTH CONTEXT BATCH THREADS
///
/// Prints both in seconds, and the step on one thread: medians of runs that take turns, so that a
/// machine that slows down slows down all three.

#include <cstdio>
#include <cstdlib>

#include "parallel.hpp"
#include "timing.hpp"
#include "trainer.hpp"

namespace {

constexpr double seconds_in_all = 8;
constexpr std::size_t fewest_runs = 5;

/// The products of attention's heads, forward and backward.
void multiply_heads(HeadsPass& pass, std::size_t n_heads) {
  for (std::size_t k = 0; k < pass.heads.size(); ++k) {
    const auto part_of = [&](Matrix& m) {
      return head_part(m, k / n_heads, pass.T, k % n_heads, n_heads);
    };
    Matrix& weights = pass.heads[k].weights;
    matmul_into(weights, part_of(pass.queries), transposed(part_of(pass.keys)));
    matmul_into(part_of(pass.context), weights, part_of(pass.values));
    matmul_into(part_of(pass.grad_values), transposed(weights), part_of(pass.grad_context));
    matmul_into(pass.grad_scores, part_of(pass.grad_context), transposed(part_of(pass.values)));
    matmul_into(part_of(pass.grad_queries), pass.grad_scores, part_of(pass.keys));
    matmul_into(part_of(pass.grad_keys), transposed(pass.grad_scores), part_of(pass.queries));
  }
}

/// One linear layer's three: y = x W, and what goes back to x and to W.
void multiply_linear(Matrix& y, Matrix& x, const Matrix& W, Matrix& grad_W) {
  matmul_add(y, x, W);
  matmul_into(x, y, transposed(W));
  matmul_add(grad_W, transposed(x), y);
}

/// All products of one shard's step, in the matrices of a real one.
void multiply(const GPT2& model, ModelPass& pass, GPT2& gradient) {
  for (std::size_t layer = 0; layer < model.blocks.size(); ++layer) {
    const Block& block = model.blocks[layer];
    Block& grad = gradient.blocks[layer];
    BlockPass& p = pass.blocks[layer];
    HeadsPass& heads = p.attention;
    multiply_linear(heads.queries, p.norm_1.output, block.attention.W_query,
                    grad.attention.W_query);
    multiply_linear(heads.keys, p.norm_1.output, block.attention.W_key, grad.attention.W_key);
    multiply_linear(heads.values, p.norm_1.output, block.attention.W_value, grad.attention.W_value);
    multiply_heads(heads, model.config.heads);
    multiply_linear(heads.output, heads.context, block.attention.W_out, grad.attention.W_out);
    FeedForwardPass& wide = p.feed_forward;
    multiply_linear(wide.up, p.norm_2.output, block.feed_forward.W_up, grad.feed_forward.W_up);
    multiply_linear(wide.output, wide.bent, block.feed_forward.W_down, grad.feed_forward.W_down);
  }
  matmul_into(pass.logits, pass.norm.output, transposed(model.token_embedding));
  matmul_into(pass.grad_norm, pass.logits, model.token_embedding);
  matmul_add(gradient.token_embedding, transposed(pass.logits), pass.norm.output);
}

/// Zeros in every matrix that takes part: the time is the same, and nothing can overflow.
void clear(ModelPass& pass) {
  for (BlockPass& block : pass.blocks) {
    HeadsPass& heads = block.attention;
    for (Matrix* m :
         {&block.norm_1.output, &block.norm_2.output, &heads.queries, &heads.keys, &heads.values,
          &heads.context, &heads.output, &heads.grad_context, &block.feed_forward.up,
          &block.feed_forward.bent, &block.feed_forward.output}) {
      m->fill(0);
    }
  }
  pass.norm.output.fill(0);
}

Batch any_batch(const Config& config, std::size_t B) {
  Batch batch{B, config.context, {}, {}};
  for (std::size_t i = 0; i < B * config.context; ++i) {
    batch.inputs.push_back(static_cast<int>(i * 7 % config.symbols));
    batch.targets.push_back(static_cast<int>((i + 1) * 7 % config.symbols));
  }
  return batch;
}

std::size_t size_of(const char* text) {
  return std::strtoul(text, nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fputs("training_benchmark LAYERS HEADS WIDTH CONTEXT BATCH THREADS\n", stderr);
    return 2;
  }
  use_one_thread_a_product();
  const Config config{65, size_of(argv[4]), size_of(argv[1]), size_of(argv[2]), size_of(argv[3])};
  TrainingSettings settings;
  settings.batch = size_of(argv[5]);
  settings.threads = size_of(argv[6]);
  Generator generator(1);
  const GPT2 model(config, generator);
  Trainer trainer(model, settings);
  settings.threads = 1;
  Trainer alone(model, settings);
  settings.threads = size_of(argv[6]);

  const std::size_t shards = shards_of(settings.batch);
  std::vector<ModelPass> passes;
  std::vector<GPT2> gradients(shards, zeros_like(model));
  for (std::size_t thread = 0; thread < settings.threads; ++thread) {
    passes.emplace_back(config, settings.batch / shards, config.context);
    clear(passes.back());
  }
  const Batch batch = any_batch(config, settings.batch);
  std::vector<double> steps, products, steps_alone;
  double spent = 0;
  for (std::size_t run = 0; run <= fewest_runs || spent < seconds_in_all; ++run) {
    const double step = seconds_of([&] { trainer.step(batch); });
    const double product = seconds_of([&] {
      in_parallel(shards, settings.threads, [&](std::size_t shard, std::size_t thread) {
        multiply(model, passes[thread], gradients[shard]);
      });
    });
    const double step_alone = seconds_of([&] { alone.step(batch); });
    spent += step + product + step_alone;
    if (run == 0) continue;  // the first of each makes buffers
    steps.push_back(step);
    products.push_back(product);
    steps_alone.push_back(step_alone);
  }
  std::printf("%.6f %.6f %.6f\n", median(steps), median(products), median(steps_alone));
}
