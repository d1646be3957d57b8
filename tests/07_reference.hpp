#pragma once
/// @file
/// @brief GPT-2 again, as slow and obvious loops in double precision: what chapter 07 is compared
/// with.
///
/// Nothing here uses the chapter's code, and no gradient is derived by hand: each number remembers
/// what it was computed from, and the chain rule follows these traces. Every step can be done wrong
/// on purpose, so that a test can say what a failure looks like.

#include <map>
#include <string>
#include <vector>

#include "common/tensor.hpp"

namespace slow {

class Tape;

/// A number that remembers how it was computed, if it depends on a variable.
struct Number {
  double value = 0;
  Tape* tape = nullptr;   ///< none: a constant
  std::size_t place = 0;  ///< on the tape

  Number() = default;
  Number(double constant) : value(constant) {}
  Number(double known, Tape* where, std::size_t at) : value(known), tape(where), place(at) {}
};

/// Everything that was computed from variables, in the order in which it was.
class Tape {
 public:
  Number variable(double value);

  /// A number that came from two others, and how fast it grows with each.
  Number step(double value, const Number& a, double slope_a, const Number& b, double slope_b);

  /// How fast `result` grows with each number on the tape, by its place.
  std::vector<double> slopes(const Number& result) const;

 private:
  struct Step {
    std::size_t a, b;
    double slope_a, slope_b;
  };
  std::vector<Step> steps_;
};

/// A matrix of such numbers; a vector is one row.
struct Table {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<Number> numbers;

  Table() = default;
  Table(std::size_t height, std::size_t width)
      : rows(height), columns(width), numbers(height * width) {}
  explicit Table(const Matrix& m);

  Number& operator()(std::size_t i, std::size_t j) { return numbers[i * columns + j]; }
  const Number& operator()(std::size_t i, std::size_t j) const { return numbers[i * columns + j]; }
};

Matrix values(const Table& t);

/// By the names that the model's tensors have, such as "blocks.0.attention.W_query".
using Weights = std::map<std::string, Table>;
using Matrices = std::map<std::string, Matrix>;

enum class Bend { tanh, erf, relu, sigmoid, none };

/// How a model is computed. As it stands, the right way; each switch is a mistake.
struct Way {
  // layer norm
  bool variance_of_sample = false;  // n - 1
  bool no_gain = false;
  bool no_norm_bias = false;
  bool no_epsilon = false;
  bool epsilon_outside = false;
  bool no_mean = false;
  bool norm_down_the_columns = false;
  // feed-forward
  Bend bend = Bend::tanh;
  bool bent_twice = false;
  bool no_up_bias = false;
  bool no_down_bias = false;
  // attention
  double divisor = 0;  // 0: √head_dim
  bool no_mask = false;
  bool diagonal_masked = false;
  bool mask_one_off = false;
  bool no_query_bias = false;
  bool no_key_bias = false;
  bool no_value_bias = false;
  bool no_out_bias = false;
  bool no_W_out = false;
  bool every_nth_column = false;
  bool keys_of_first_head = false;
  bool values_of_first_head = false;
  bool keys_and_values_swapped = false;
  bool sequences_mixed = false;
  // block
  bool norm_after = false;
  bool norm_replaces_residual = false;
  bool no_residual_1 = false;
  bool no_residual_2 = false;
  bool side_by_side = false;  // both halves read x
  bool norm_1_twice = false;
  bool no_norm_1 = false;
  bool no_norm_2 = false;
  bool feed_forward_first = false;
  // model
  bool no_positions = false;
  bool position_of_next = false;
  bool position_of_sequence = false;
  bool no_last_norm = false;
  bool first_block_only = false;
  bool blocks_in_reverse = false;
  bool softmax_of_logits = false;
  // loss
  bool loss_summed = false;
  // backward only: the numbers are right, and the gradients as if a part of the chain were missing
  bool norm_mean_constant = false;
  bool norm_variance_constant = false;
  bool norm_gain_forgotten = false;
  bool tangent_constant = false;
  bool softmax_total_constant = false;
  bool scale_forgotten = false;
  bool queries_lead_nowhere = false;
  bool keys_lead_nowhere = false;
  bool values_lead_nowhere = false;
  bool residual_1_forgotten = false;
  bool residual_2_forgotten = false;
  bool half_1_forgotten = false;
  bool half_2_forgotten = false;
  bool head_constant = false;
  bool embedding_constant = false;
  bool dropout_forgotten = false;
  bool dropout_unscaled = false;

  bool operator==(const Way&) const = default;
};

/// A way to go wrong, and the words for it.
struct Mistake {
  std::string name;
  Way way;
};

/// Those that change what is computed, and those that change gradients alone.
const std::vector<Mistake>& mistakes_forward();
const std::vector<Mistake>& mistakes_backward();

/// What dropout multiplied the numbers of each place by; an empty table: it left them alone.
struct Factors {
  Table embedded;
  std::vector<Table> heads;     // of all layers: for each its sequences, for each its heads
  std::vector<Table> halves_1;  // one a layer
  std::vector<Table> halves_2;
};

/// y = x W + b
Table linear(const Table& x, const Table& W, const Table& b);

Table layer_norm(const Table& x, const Table& gain, const Table& bias, const Way& way = {});

Table gelu(const Table& x, const Way& way = {});

/// By row.
Table softmax(const Table& scores, const Way& way = {});

struct Shape {
  std::size_t T;
  std::size_t heads;
  std::size_t layers = 1;
};

/// The weights' names begin with `at`, such as "blocks.0.".
Table feed_forward(const Table& x, const Weights& weights, const std::string& at,
                   const Way& way = {});
Table attention(const Table& x, const Weights& weights, const std::string& at, const Shape& shape,
                const Way& way = {}, const Factors& factors = {}, std::size_t layer = 0);
/// One head's weights for one sequence, before dropout.
Table attention_weights(const Table& x, const Weights& weights, const std::string& at,
                        const Shape& shape, std::size_t sequence, std::size_t head,
                        const Way& way = {});
Table block(const Table& x, const Weights& weights, const Shape& shape, std::size_t layer,
            const Way& way = {}, const Factors& factors = {});

/// The logits, (B · T, symbols).
Table model(const Weights& weights, const Shape& shape, const std::vector<int>& tokens,
            const Way& way = {}, const Factors& factors = {});

/// The mean loss of all rows.
Number cross_entropy(const Table& logits, const std::vector<int>& targets, const Way& way = {});

/// All of a function's inputs as variables, and how fast its result grows with each.
template <class Function>
Matrices gradients(const Weights& inputs, const Function& function) {
  Tape tape;
  Weights variables = inputs;
  for (auto& [name, table] : variables) {
    for (Number& number : table.numbers) number = tape.variable(number.value);
  }
  const Number result = function(variables);
  const std::vector<double> slopes = tape.slopes(result);
  Matrices all;
  for (const auto& [name, table] : variables) {
    Matrix m = matrix(table.rows, table.columns);
    for (std::size_t k = 0; k < table.numbers.size(); ++k) {
      m.data()[k] = static_cast<Real>(slopes.at(table.numbers[k].place));
    }
    all[name] = m;
  }
  return all;
}

/// Σ g ⊙ y: a number whose gradient in y is g.
Number weighted_sum(const Table& y, const Matrix& g);

/// What AdamW remembers, and its step, tensor by tensor.
struct Optimizer {
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  double epsilon = 1e-8;
  double decay = 0.1;
  double clip = 1;
  bool no_correction = false;
  bool decay_everywhere = false;
  bool decay_nowhere = false;
  bool clip_by_tensor = false;
  bool clip_after = false;  // the step instead of the gradient
  bool decay_in_gradient = false;
  bool epsilon_under_root = false;
  std::size_t steps = 0;
  std::map<std::string, std::vector<double>> mean, square;

  /// Changes the weights by gradients that are not clipped yet.
  void step(Weights& weights, const Matrices& gradients, double rate);
};

}  // namespace slow
