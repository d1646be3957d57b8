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
  double turn = 0;  // degrees
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

Trace show_trace(const Sequence& input, const Attention& attention, bool scale, Report& report) {
  report.section("trace", "The running example, scaled");
  const Trace trace = forward(attention, input.X, scale);
  report.matrix({"X", "", input.tokens, numbered("x", d_in)}, input.X);
  report.matrix({"queries", "X W_query", input.tokens, numbered("q", d_in)}, trace.queries);
  report.matrix({"keys", "X W_key", input.tokens, numbered("k", d_in)}, trace.keys);
  report.matrix({"values", "X W_value", input.tokens, numbered("v", d_in)}, trace.values);
  report.matrix({"scores", "queries keysᵀ", input.tokens, input.tokens}, trace.scores);
  report.matrix(
      {"scaled", scale ? "scores / √2" : "scores, not divided", input.tokens, input.tokens},
      trace.scaled);
  report.matrix({"weights", "softmax of each row", input.tokens, input.tokens}, trace.weights);
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
  report.say("  first query number:    {} = {:.4f}", products(token, first_weights, 2),
             trace.queries(0, 0));
  const Vector weights = xt::view(trace.weights, 0, xt::all());
  const Vector values = xt::view(trace.values, xt::all(), 0);
  report.say("  first context number:  {} = {:.4f}", products(weights, values, 3),
             trace.context(0, 0));
}

/// The three tokens whose every step can be checked by hand; `context` and the others are what a
/// hand gets.
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

/// Turns row `row` of a matrix of two columns by an angle, counterclockwise.
Matrix turn_row(const Matrix& m, std::size_t row, double degrees) {
  const auto angle = static_cast<Real>(degrees * std::numbers::pi / 180);
  Matrix turned = m;
  turned(row, 0) = std::cos(angle) * m(row, 0) - std::sin(angle) * m(row, 1);
  turned(row, 1) = std::sin(angle) * m(row, 0) + std::cos(angle) * m(row, 1);
  return turned;
}

Matrix worked_queries(const Choices& choices) {
  return turn_row(Worked().queries, 2, choices.turn);
}

void show_match(const std::string& name, const Matrix& got, const Matrix& by_hand, Report& report) {
  constexpr double half_of_the_last_digit = 0.5001e-4;
  report.check(name + "_match",
               static_cast<double>(max_abs_difference(got, by_hand)) <= half_of_the_last_digit,
               name + " match the numbers worked by hand");
}

/// `e^0.7071 = 2.0281, …, in sum 5.0562`: how a hand starts a softmax.
std::string shares_by_hand(const Vector& scaled) {
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
  report.matrix({"scores", "queries keysᵀ", worked.tokens, worked.tokens}, trace.scores);
  report.matrix({"scaled", choices.scale ? "scores / √2" : "scores, not divided", worked.tokens,
                 worked.tokens},
                trace.scaled);
  report.matrix({"weights", "softmax of each row", worked.tokens, worked.tokens}, trace.weights);
  report.matrix({"context", "weights values", worked.tokens, numbered("v", 2)}, trace.context);
  report.say("Row 1 by hand: {}", shares_by_hand(xt::view(trace.scaled, 0, xt::all())));
  show_match("scores", trace.scores, worked.scores, report);
  show_match("scaled", trace.scaled, worked.scaled, report);
  show_match("weights", trace.weights, worked.weights, report);
  show_match("context", trace.context, worked.context, report);
}

/// The same two numbers over and over, so that a vector of two becomes one of d_k. The factor
/// (2/d_k)^¼ makes every dot product grow by √(d_k/2), just as that of random vectors does.
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
  const Worked worked;
  const Trace trace = attend_widened(choices, choices.d_k, choices.scale);
  report.matrix({"scores", "queries keysᵀ", worked.tokens, worked.tokens}, trace.scores);
  report.matrix({"scaled", choices.scale ? "scores / √d_k" : "scores, not divided", worked.tokens,
                 worked.tokens},
                trace.scaled);
  report.matrix({"weights", "softmax of each row", worked.tokens, worked.tokens}, trace.weights);
}

void show_collapse(const Choices& choices, Report& report) {
  report.section("collapse", "Row 3 of the weights while d_k grows");
  Labels rows;
  Matrix divided = matrix(widths.size(), 3);
  Matrix undivided(divided.shape());
  for (std::size_t row = 0; row < widths.size(); ++row) {
    rows.push_back(fmt::format("d_k = {}", widths[row]));
    xt::view(divided, row, xt::all()) =
        xt::view(attend_widened(choices, widths[row], true).weights, 2, xt::all());
    xt::view(undivided, row, xt::all()) =
        xt::view(attend_widened(choices, widths[row], false).weights, 2, xt::all());
  }
  const Labels tokens = Worked().tokens;
  report.matrix({"divided", "weights of row 3 with the division", rows, tokens}, divided);
  report.matrix({"undivided", "weights of row 3 without it", rows, tokens}, undivided);
}

/// What the sweep measures, averaged over many rows of weights.
Vector sharpness(const Matrix& weights) {
  double entropy = 0;
  double largest = 0;
  double gradient = 0;
  const std::size_t rows = weights.shape(0);
  for (std::size_t i = 0; i < rows; ++i) {
    const Vector row = xt::view(weights, i, xt::all());
    entropy += entropy_bits(row);
    largest += static_cast<double>(xt::amax(row)());
    gradient += softmax_jacobian_norm(row);
  }
  const Vector sums = {static_cast<Real>(entropy), static_cast<Real>(largest),
                       static_cast<Real>(gradient)};
  return sums / static_cast<Real>(rows);
}

/// Many small sequences of random queries and keys of one width, with the division and without.
struct Sweep {
  static constexpr std::size_t sequences = 64;
  static constexpr std::size_t queries = 8;
  static constexpr std::size_t keys = 16;

  Real mean_square = 0;  // of the dot products, whose mean is 0
  Vector divided = {0, 0, 0};
  Vector undivided = {0, 0, 0};

  Sweep(std::size_t d_k, Generator& generator) {
    const Matrix values = matrix(keys, 1);
    const auto share = Real{1} / sequences;
    for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
      const Matrix Q = normal_matrix(queries, d_k, generator);
      const Matrix K = normal_matrix(keys, d_k, generator);
      const Trace with = attend(Q, K, values, true);
      mean_square += share * static_cast<Real>(xt::mean(xt::square(with.scores))());
      divided += share * sharpness(with.weights);
      undivided += share * sharpness(attend(Q, K, values, false).weights);
    }
  }
};

void show_sweep(std::uint64_t seed, Report& report) {
  report.section("sweep", "Random queries and keys while d_k grows");
  Generator generator(seed);
  Labels rows;
  Matrix spreads = matrix(widths.size(), 2);
  Matrix divided = matrix(widths.size(), 3);
  Matrix undivided(divided.shape());
  for (std::size_t row = 0; row < widths.size(); ++row) {
    const Sweep sweep(widths[row], generator);
    rows.push_back(fmt::format("d_k = {}", widths[row]));
    spreads(row, 0) = std::sqrt(sweep.mean_square);
    spreads(row, 1) = std::sqrt(static_cast<Real>(widths[row]));
    xt::view(divided, row, xt::all()) = sweep.divided;
    xt::view(undivided, row, xt::all()) = sweep.undivided;
  }
  report.say(
      "{} sequences of {} queries and {} keys; every number in them has mean 0 and variance 1.",
      Sweep::sequences, Sweep::queries, Sweep::keys);
  const Labels measures = {"entropy", "largest", "gradient"};
  report.matrix({"spread", "standard deviation of the dot products", rows, {"spread", "√d_k"}, 2},
                spreads);
  report.matrix({"divided", "weights with the division", rows, measures, 3}, divided);
  report.matrix({"undivided", "weights without it", rows, measures, 3}, undivided);
}

void show_leak(const Sequence& input, const Attention& attention, bool scale, Report& report) {
  report.section("leak", "The first row reads the last token");
  Matrix changed = input.X;
  const std::size_t last = input.tokens.size() - 1;
  xt::view(changed, last, xt::all()) = Real{-1} * xt::view(input.X, last, xt::all());
  const Matrix before = forward(attention, input.X, scale).context;
  const Matrix after = forward(attention, changed, scale).context;
  const Labels columns = numbered("v", before.shape(1));
  report.matrix({"before", "context", input.tokens, columns}, before);
  report.matrix({"after", fmt::format("context with {} turned around", quoted(input.tokens[last])),
                 input.tokens, columns},
                after);
}

void show_cost(const Sequence& input, const Attention& attention, Report& report) {
  report.section("cost", "Twice the length, four times the scoring");
  const std::size_t d_k = attention.W_key.shape(1);
  const std::size_t T = input.tokens.size();
  for (const std::size_t times : {1U, 2U, 4U}) {
    const std::size_t length = times * T;
    report.count(fmt::format("products_{}", times), length * length * d_k,
                 fmt::format("multiplications for the scores of {} tokens: {} x {} x {}",
                             grouped(length), grouped(length), grouped(length), d_k));
  }
}

void demonstrate(const Options& options, const Choices& choices, Report& report) {
  if (choices.d_k % 2 != 0) {
    throw std::invalid_argument(fmt::format(
        "--d-k {}: the worked example repeats pairs of numbers, so d_k must be even", choices.d_k));
  }
  const Sequence input = embed(split_words(options.text), d_in, options.positions);
  Generator generator(options.seed);
  const Attention attention(d_in, d_in, generator);
  const Trace trace = show_trace(input, attention, choices.scale, report);
  show_by_hand(input, attention, trace, report);
  show_worked_example(choices, report);
  show_widened(choices, report);
  show_collapse(choices, report);
  show_sweep(options.seed, report);
  show_cost(input, attention, report);
  show_leak(first_tokens(input, 16), attention, choices.scale, report);
  const Labels tokens = Worked().tokens;
  report.panel("scaled", trace.scaled, input.tokens, input.tokens);
  report.panel("weights", trace.weights, input.tokens, input.tokens, 1);
  report.panel("d_k = 512, divided", attend_widened(choices, 512, true).weights, tokens, tokens, 1);
  report.panel("d_k = 512, not divided", attend_widened(choices, 512, false).weights, tokens,
               tokens, 1);
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  Command command("03_scaling",
                  "Chapter 03: scores divided by the square root of d_k, step by step.");
  command.add_switch("--scale", choices.scale, "Divide the scores by the square root of d_k");
  command.add_count("--d-k", choices.d_k, "Width to which the worked example is brought; even", 2,
                    65536);
  command.add_number("--turn", choices.turn, "Degrees by which token 3's query is turned", -360,
                     360);
  return command.run(argc, argv, [&](const Options& options, Report& report) {
    demonstrate(options, choices, report);
  });
}
