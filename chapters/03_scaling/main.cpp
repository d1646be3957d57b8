/// @file
/// @brief The demo of chapter 03: what the division by √d_k does, and what happens without it.

#include "common/random.hpp"
#include "common/tensor.hpp"

// Before this chapter's own: both name their functions alike.
namespace chapter_02 {
#include "chapters/02_trainable_weights/attention.hpp"
}

#include "attention.hpp"

#include <numbers>

#include "common/command.hpp"
#include "common/measure.hpp"

namespace {

constexpr std::size_t d_in = 2;
const std::vector<std::size_t> widths = {2, 4, 8, 16, 32, 64, 128, 256, 512};

/// What this chapter lets the reader choose.
struct Choices {
  bool scale = true;
  std::size_t d_k = 64;
  double rotate = 0;  // degrees
};

/// Chapter 02's forward pass, which doesn't scale: the scores go into softmax as they are.
Trace attend_unscaled(const Matrix& queries, const Matrix& keys, const Matrix& values) {
  const chapter_02::Trace trace = chapter_02::attend(queries, keys, values);
  return {queries, keys, values, trace.scores, trace.scores, trace.weights, trace.context};
}

/// One forward pass, scaled or not.
Trace attend(const Matrix& queries, const Matrix& keys, const Matrix& values, bool scale) {
  return scale ? attend(queries, keys, values) : attend_unscaled(queries, keys, values);
}

Trace forward(const Attention& attention, const Matrix& X, bool scale) {
  return attend(matmul(X, attention.W_query), matmul(X, attention.W_key),
                matmul(X, attention.W_value), scale);
}

/// Every tensor of a forward pass, in the order in which they are computed.
void show_tensors(const Trace& trace, const Labels& tokens, const std::string& divisor,
                  Report& report) {
  report.matrix({"scores", "queries keysᵀ", tokens, tokens}, trace.scores);
  report.matrix(
      {"scaled", divisor.empty() ? "scores, unscaled" : "scores / " + divisor, tokens, tokens},
      trace.scaled);
  report.matrix({"weights", "softmax of each row", tokens, tokens}, trace.weights);
}

Trace show_trace(const Sequence& input, const Attention& attention, bool scale, Report& report) {
  report.section("trace", "The running example, scaled");
  const Trace trace = forward(attention, input.X, scale);
  report.matrix({"X", "", input.tokens, numbered("x", d_in)}, input.X);
  report.matrix({"queries", "X W_query", input.tokens, numbered("q", d_in)}, trace.queries);
  report.matrix({"keys", "X W_key", input.tokens, numbered("k", d_in)}, trace.keys);
  report.matrix({"values", "X W_value", input.tokens, numbered("v", d_in)}, trace.values);
  show_tensors(trace, input.tokens, scale ? "√2" : "", report);
  report.matrix({"context", "weights values", input.tokens, numbered("v", d_in)}, trace.context);
  const std::size_t last = input.tokens.size() - 1;
  report.say("  {} gives itself {:.1f} % of its attention", quoted(input.tokens[last]),
             100 * static_cast<double>(trace.weights(last, last)));
  return trace;
}

/// `1.1600 x 0.5406 + 0.2300 x 0.5869`: how a hand gets a dot product.
std::string products(const Vector& left, const Vector& right, int decimals_left) {
  std::string text;
  for (std::size_t i = 0; i < left.size(); ++i) {
    text +=
        fmt::format("{}{:.{}f} x {:.4f}", i == 0 ? "" : " + ", left(i), decimals_left, right(i));
  }
  return text;
}

void show_by_hand(const Sequence& input, const Attention& attention, const Trace& trace,
                  Report& report) {
  constexpr std::size_t longest_line = 6;
  if (input.tokens.size() > longest_line) return;
  report.section("by_hand", "The first row by hand");
  const Vector token = xt::view(input.X, 0, xt::all());
  const Vector first_weights = xt::view(attention.W_query, xt::all(), 0);
  report.say("  query, first element:    {} = {:.4f}", products(token, first_weights, 2),
             trace.queries(0, 0));
  const Vector weights = xt::view(trace.weights, 0, xt::all());
  const Vector values = xt::view(trace.values, xt::all(), 0);
  report.say("  context, first element:  {} = {:.4f}", products(weights, values, 3),
             trace.context(0, 0));
}

/// Three tokens small enough for a pencil; `scores` to `context` are the results worked by hand.
struct Worked {
  Matrix queries = {{1, 0}, {0, 1}, {1, 1}};
  Matrix keys = {{1, 0}, {0, 1}, {1, 1}};
  Matrix values = {{1, 0}, {0, 2}, {3, 1}};
  Matrix scores = {{1, 0, 1}, {0, 1, 1}, {1, 1, 2}};
  Matrix scaled = {{0.7071F, 0, 0.7071F}, {0, 0.7071F, 0.7071F}, {0.7071F, 0.7071F, 1.4142F}};
  Matrix weights = {
      {0.4011F, 0.1978F, 0.4011F}, {0.1978F, 0.4011F, 0.4011F}, {0.2483F, 0.2483F, 0.5035F}};
  Matrix context = {{1.6044F, 0.7967F}, {1.4011F, 1.2033F}, {1.7587F, 1.0000F}};
  Labels tokens = numbered("token ", 3);
};

/// Rotates row `row` of a matrix of two columns, counterclockwise.
Matrix rotate_row(const Matrix& m, std::size_t row, double degrees) {
  const auto angle = static_cast<Real>(degrees * std::numbers::pi / 180);
  Matrix rotated = m;
  rotated(row, 0) = std::cos(angle) * m(row, 0) - std::sin(angle) * m(row, 1);
  rotated(row, 1) = std::sin(angle) * m(row, 0) + std::cos(angle) * m(row, 1);
  return rotated;
}

Matrix worked_queries(const Choices& choices) {
  return rotate_row(Worked().queries, 2, choices.rotate);
}

void show_match(const std::string& name, const Matrix& got, const Matrix& by_hand, Report& report) {
  constexpr double half_of_the_last_digit = 0.5001e-4;
  report.check(name + "_match",
               static_cast<double>(max_abs_difference(got, by_hand)) <= half_of_the_last_digit,
               name + " match the numbers worked by hand");
}

/// `e^0.7071 = 2.0281, …, in sum 5.0562`: how softmax begins by hand.
std::string exponentials_by_hand(const Vector& scaled) {
  std::string text;
  Real sum = 0;
  for (const Real score : scaled) {
    text += fmt::format("e^{:.4f} = {:.4f}, ", score, std::exp(score));
    sum += std::exp(score);
  }
  return text + fmt::format("in sum {:.4f}", sum);
}

void show_worked_example(const Choices& choices, Report& report) {
  report.section("worked", "The worked example");
  const Worked worked;
  const Trace trace = attend(worked_queries(choices), worked.keys, worked.values, choices.scale);
  report.matrix({"queries", "", worked.tokens, numbered("q", 2)}, trace.queries);
  report.matrix({"keys", "", worked.tokens, numbered("k", 2)}, trace.keys);
  report.matrix({"values", "", worked.tokens, numbered("v", 2)}, trace.values);
  show_tensors(trace, worked.tokens, choices.scale ? "√2" : "", report);
  report.matrix({"context", "weights values", worked.tokens, numbered("v", 2)}, trace.context);
  report.say("Row 1 by hand: {}", exponentials_by_hand(xt::view(trace.scaled, 0, xt::all())));
  show_match("scores", trace.scores, worked.scores, report);
  show_match("scaled", trace.scaled, worked.scaled, report);
  show_match("weights", trace.weights, worked.weights, report);
  show_match("context", trace.context, worked.context, report);
}

/// Repeats the two elements of each row until it is d_k wide. The factor (2/d_k)^¼ makes every dot
/// product grow by √(d_k/2), the rate at which those of random vectors grow.
Matrix widened(const Matrix& pairs, std::size_t d_k) {
  const Real factor = std::pow(Real{2} / static_cast<Real>(d_k), Real{0.25});
  Matrix wide = matrix(pairs.shape(0), d_k);
  for (std::size_t i = 0; i < wide.shape(0); ++i) {
    for (std::size_t j = 0; j < d_k; ++j) wide(i, j) = factor * pairs(i, j % 2);
  }
  return wide;
}

Trace attend_widened(const Choices& choices, std::size_t d_k, bool scale) {
  const Worked worked;
  return attend(widened(worked_queries(choices), d_k), widened(worked.keys, d_k), worked.values,
                scale);
}

void show_widened(const Choices& choices, Report& report) {
  report.section("widened", fmt::format("The worked example at d_k = {}", choices.d_k));
  const Trace trace = attend_widened(choices, choices.d_k, choices.scale);
  show_tensors(trace, Worked().tokens, choices.scale ? "√d_k" : "", report);
}

/// `d_k = 2`, `d_k = 4` and so on.
Labels width_labels() {
  Labels labels;
  for (const std::size_t d_k : widths) labels.push_back(fmt::format("d_k = {}", d_k));
  return labels;
}

void show_collapse(const Choices& choices, Report& report) {
  report.section("collapse", "Row 3 of the weights while d_k grows");
  Matrix scaled = matrix(widths.size(), 3);
  Matrix unscaled(scaled.shape());
  for (std::size_t n = 0; n < widths.size(); ++n) {
    xt::view(scaled, n, xt::all()) =
        xt::view(attend_widened(choices, widths[n], true).weights, 2, xt::all());
    xt::view(unscaled, n, xt::all()) =
        xt::view(attend_widened(choices, widths[n], false).weights, 2, xt::all());
  }
  const Labels tokens = Worked().tokens;
  report.matrix({"scaled", "row 3, scaled scores", width_labels(), tokens}, scaled);
  report.matrix({"unscaled", "row 3, unscaled scores", width_labels(), tokens}, unscaled);
}

/// What the sweep measures of many rows of weights.
struct Rows {
  static constexpr double saturated = 0.05;  // a row whose Jacobian's norm is smaller

  std::vector<double> entropy;
  std::vector<double> largest;
  std::vector<double> gradient;  // norm of the Jacobian with respect to the scores softmax gets
  std::vector<double> by_query;  // norm of the Jacobian with respect to the query

  /// @param divisor  what the scores were divided by
  void add(const Matrix& weights, const Matrix& keys, double divisor) {
    const Matrix mean_keys = matmul(weights, keys);  // (T, d_k)
    for (std::size_t i = 0; i < weights.shape(0); ++i) {
      const Vector row = xt::view(weights, i, xt::all());
      entropy.push_back(entropy_bits(row));
      largest.push_back(static_cast<double>(max_of(row)));
      gradient.push_back(softmax_jacobian_norm(row));
      double squares = 0;  // weight j moves by weight j (key j - the mean key) / divisor
      for (std::size_t j = 0; j < row.size(); ++j) {
        const Vector change =
            row(j) * (xt::view(keys, j, xt::all()) - xt::view(mean_keys, i, xt::all()));
        squares += static_cast<double>(xt::sum(xt::square(change))());
      }
      by_query.push_back(std::sqrt(squares) / divisor);
    }
  }

  static double mean(const std::vector<double>& numbers) {
    double sum = 0;
    for (const double number : numbers) sum += number;
    return sum / static_cast<double>(numbers.size());
  }

  static double median(std::vector<double> numbers) {
    std::sort(numbers.begin(), numbers.end());
    const std::size_t half = numbers.size() / 2;
    return numbers.size() % 2 == 1 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
  }

  double saturated_fraction() const {
    const auto count = std::count_if(gradient.begin(), gradient.end(),
                                     [](double norm) { return norm < saturated; });
    return static_cast<double>(count) / static_cast<double>(gradient.size());
  }

  Vector summary() const {
    const std::vector<double> all = {mean(entropy), mean(largest), mean(gradient), median(gradient),
                                     saturated_fraction()};
    Vector result(Vector::shape_type{all.size()});
    std::transform(all.begin(), all.end(), result.begin(),
                   [](double number) { return static_cast<Real>(number); });
    return result;
  }
};

/// Many small sequences of random queries and keys of one width, scaled and unscaled.
struct Sweep {
  static constexpr std::size_t sequences = 64;
  static constexpr std::size_t queries = 8;
  static constexpr std::size_t keys = 16;

  double mean_square = 0;  // of the dot products, whose mean is 0
  Rows scaled;
  Rows unscaled;

  Sweep(std::size_t d_k, Generator& generator) {
    const Matrix values = matrix(keys, 1);
    for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
      const Matrix Q = normal_matrix(queries, d_k, generator);
      const Matrix K = normal_matrix(keys, d_k, generator);
      const Trace trace = attend(Q, K, values, true);
      mean_square += static_cast<double>(xt::mean(xt::square(trace.scores))()) / sequences;
      scaled.add(trace.weights, K, std::sqrt(static_cast<double>(d_k)));
      unscaled.add(attend(Q, K, values, false).weights, K, 1);
    }
  }
};

void show_sweep(std::uint64_t seed, Report& report) {
  report.section("sweep", "Random queries and keys while d_k grows");
  Generator generator(seed);
  Matrix deviations = matrix(widths.size(), 2);
  Matrix scaled = matrix(widths.size(), 5);
  Matrix unscaled(scaled.shape());
  Matrix by_query = matrix(widths.size(), 2);
  for (std::size_t n = 0; n < widths.size(); ++n) {
    const Sweep sweep(widths[n], generator);
    deviations(n, 0) = static_cast<Real>(std::sqrt(sweep.mean_square));
    deviations(n, 1) = std::sqrt(static_cast<Real>(widths[n]));
    xt::view(scaled, n, xt::all()) = sweep.scaled.summary();
    xt::view(unscaled, n, xt::all()) = sweep.unscaled.summary();
    by_query(n, 0) = static_cast<Real>(Rows::mean(sweep.scaled.by_query));
    by_query(n, 1) = static_cast<Real>(Rows::mean(sweep.unscaled.by_query));
  }
  report.say(
      "{} sequences of {} queries and {} keys, with independent elements of mean 0 and variance 1.",
      Sweep::sequences, Sweep::queries, Sweep::keys);
  const Labels rows = width_labels();
  report.matrix({"deviation", "standard deviation of the scores", rows, {"measured", "√d_k"}, 2},
                deviations);
  const Labels measures = {"entropy", "largest", "mean", "median", "saturated"};
  report.matrix({"unscaled", "weights from unscaled scores", rows, measures, 3}, unscaled);
  report.matrix({"scaled", "weights from scaled scores", rows, measures, 3}, scaled);
  report.matrix(
      {"by_query", "mean gradient with respect to the query", rows, {"scaled", "unscaled"}, 3},
      by_query);
}

void show_leak(const Sequence& input, const Attention& attention, bool scale, Report& report) {
  report.section("leak", "The first row depends on the last token");
  Matrix changed = input.X;
  const std::size_t last = input.tokens.size() - 1;
  xt::view(changed, last, xt::all()) = Real{-1} * xt::view(input.X, last, xt::all());
  const Matrix before = forward(attention, input.X, scale).context;
  const Matrix after = forward(attention, changed, scale).context;
  const Labels columns = numbered("v", before.shape(1));
  report.matrix({"before", "context", input.tokens, columns}, before);
  report.matrix({"after", fmt::format("context with {} negated", quoted(input.tokens[last])),
                 input.tokens, columns},
                after);
}

/// Random input of growing length, to see how much there is to compute.
void show_cost(const Attention& attention, Report& report) {
  report.section("cost", "Twice the length, four times the scoring");
  constexpr std::size_t longest = 1024;  // GPT-2's
  const std::size_t d_k = attention.W_key.shape(1);
  const std::size_t weights =
      attention.W_query.size() + attention.W_key.size() + attention.W_value.size();
  Generator generator(1);
  Labels rows;
  std::vector<Real> counts;
  for (std::size_t T = 16; T <= longest; T *= 2) {
    const Trace trace = attention.forward(normal_matrix(T, d_in, generator));
    rows.push_back(fmt::format("T = {}", T));
    for (const std::size_t count : {trace.scores.size(), trace.scores.size() * d_k, T * weights}) {
      counts.push_back(static_cast<Real>(count));
    }
  }
  Matrix cost = matrix(rows.size(), 3);
  std::copy(counts.begin(), counts.end(), cost.begin());
  report.matrix({"counts",
                 "the scores, and multiplications for scores and projections",
                 rows,
                 {"scores", "T T d_k", "3 T d_in d_k"},
                 0},
                cost);
}

void demonstrate(const Options& options, const Choices& choices, Report& report) {
  if (choices.d_k % 2 != 0) {
    throw std::invalid_argument(
        fmt::format("--d-k {}: the worked example repeats pairs of elements, so d_k must be even",
                    choices.d_k));
  }
  const Sequence input = embed(split_words(options.text), d_in, options.positions);
  Generator generator(options.seed);
  const Attention attention(d_in, d_in, generator);
  const Trace trace = show_trace(input, attention, choices.scale, report);
  show_by_hand(input, attention, trace, report);
  show_worked_example(choices, report);
  show_sweep(options.seed, report);
  show_widened(choices, report);
  show_collapse(choices, report);
  show_cost(attention, report);
  show_leak(first_tokens(input, 16), attention, choices.scale, report);
  const Labels tokens = Worked().tokens;
  report.panel("scaled", trace.scaled, input.tokens, input.tokens);
  report.panel("weights", trace.weights, input.tokens, input.tokens, 1);
  report.panel("d_k = 512, scaled", attend_widened(choices, 512, true).weights, tokens, tokens, 1);
  report.panel("d_k = 512, unscaled", attend_widened(choices, 512, false).weights, tokens, tokens,
               1);
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  Command command("03_scaling",
                  "Chapter 03: scores divided by the square root of d_k, step by step.");
  command.add_switch("--scale", choices.scale, "Divide the scores by the square root of d_k");
  command.add_count("--d-k", choices.d_k, "Width of the widened worked example; even", 2, 65536);
  command.add_number("--rotate", choices.rotate, "Degrees to rotate token 3's query by", -360, 360);
  return command.run(argc, argv, [&](const Options& options, Report& report) {
    demonstrate(options, choices, report);
  });
}
