#include "07_reference.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace slow {

// --- numbers that remember -----------------------------------------------------------------------

Number Tape::variable(double value) {
  steps_.push_back({0, 0, 0, 0});
  return {value, this, steps_.size() - 1};
}

Number Tape::step(double value, const Number& a, double slope_a, const Number& b, double slope_b) {
  // A constant's place is never looked at: its slope is 0.
  steps_.push_back({a.place, b.place, a.tape ? slope_a : 0, b.tape ? slope_b : 0});
  return {value, this, steps_.size() - 1};
}

std::vector<double> Tape::slopes(const Number& result) const {
  std::vector<double> all(steps_.size(), 0.0);
  if (result.tape == nullptr) return all;
  all[result.place] = 1;
  for (std::size_t k = result.place + 1; k-- > 0;) {
    const Step& s = steps_[k];
    if (s.slope_a != 0) all[s.a] += s.slope_a * all[k];
    if (s.slope_b != 0) all[s.b] += s.slope_b * all[k];
  }
  return all;
}

namespace {

Number result(double value, const Number& a, double slope_a, const Number& b = {},
              double slope_b = 0) {
  Tape* tape = a.tape != nullptr ? a.tape : b.tape;
  return tape == nullptr ? Number(value) : tape->step(value, a, slope_a, b, slope_b);
}

Number operator+(const Number& a, const Number& b) {
  return result(a.value + b.value, a, 1, b, 1);
}

Number operator-(const Number& a, const Number& b) {
  return result(a.value - b.value, a, 1, b, -1);
}

Number operator*(const Number& a, const Number& b) {
  return result(a.value * b.value, a, b.value, b, a.value);
}

Number operator/(const Number& a, const Number& b) {
  return result(a.value / b.value, a, 1 / b.value, b, -a.value / (b.value * b.value));
}

Number exp(const Number& a) {
  const double power = std::exp(a.value);
  return result(power, a, power);
}

Number log(const Number& a) {
  return result(std::log(a.value), a, 1 / a.value);
}

Number sqrt(const Number& a) {
  const double root = std::sqrt(a.value);
  return result(root, a, 0.5 / root);
}

Number tanh(const Number& a) {
  const double t = std::tanh(a.value);
  return result(t, a, 1 - t * t);
}

Number erf(const Number& a) {
  return result(std::erf(a.value), a, 2 * std::numbers::inv_sqrtpi * std::exp(-a.value * a.value));
}

/// The same number, as if it depended on nothing.
Number constant(const Number& a) {
  return a.value;
}

Number constant_if(bool so, const Number& a) {
  return so ? constant(a) : a;
}

/// One number, with the gradient of another.
Number value_of(const Number& value, const Number& slope) {
  return slope + (value.value - slope.value);
}

Table constant_if(bool so, Table t) {
  for (Number& number : t.numbers) number = constant_if(so, number);
  return t;
}

Table sum(const Table& a, const Table& b) {
  Table c = a;
  for (std::size_t k = 0; k < c.numbers.size(); ++k) c.numbers[k] = a.numbers[k] + b.numbers[k];
  return c;
}

Table transposed(const Table& t) {
  Table turned(t.columns, t.rows);
  for (std::size_t i = 0; i < t.rows; ++i) {
    for (std::size_t j = 0; j < t.columns; ++j) turned(j, i) = t(i, j);
  }
  return turned;
}

}  // namespace

Table::Table(const Matrix& m) : Table(m.shape(0), m.shape(1)) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) (*this)(i, j) = static_cast<double>(m(i, j));
  }
}

Matrix values(const Table& t) {
  Matrix m = matrix(t.rows, t.columns);
  for (std::size_t i = 0; i < t.rows; ++i) {
    for (std::size_t j = 0; j < t.columns; ++j) m(i, j) = static_cast<Real>(t(i, j).value);
  }
  return m;
}

Number weighted_sum(const Table& y, const Matrix& g) {
  Number sum;
  for (std::size_t i = 0; i < y.rows; ++i) {
    for (std::size_t j = 0; j < y.columns; ++j) sum = sum + y(i, j) * static_cast<double>(g(i, j));
  }
  return sum;
}

// --- the parts -----------------------------------------------------------------------------------

Table linear(const Table& x, const Table& W, const Table& b) {
  Table y(x.rows, W.columns);
  for (std::size_t i = 0; i < y.rows; ++i) {
    for (std::size_t j = 0; j < y.columns; ++j) {
      Number sum = b(0, j);
      for (std::size_t k = 0; k < x.columns; ++k) sum = sum + x(i, k) * W(k, j);
      y(i, j) = sum;
    }
  }
  return y;
}

Table layer_norm(const Table& x, const Table& gain, const Table& bias, const Way& way) {
  if (way.norm_down_the_columns) {
    Way by_row = way;
    by_row.norm_down_the_columns = false;
    by_row.no_gain = by_row.no_norm_bias = true;
    const Table normalized =
        transposed(layer_norm(transposed(x), Table(1, x.rows), Table(1, x.rows), by_row));
    Table y = normalized;
    for (std::size_t i = 0; i < x.rows; ++i) {
      for (std::size_t j = 0; j < x.columns; ++j) y(i, j) = gain(0, j) * y(i, j) + bias(0, j);
    }
    return y;
  }
  const auto width = static_cast<double>(x.columns);
  Table y(x.rows, x.columns);
  for (std::size_t i = 0; i < x.rows; ++i) {
    Number mean;
    for (std::size_t j = 0; j < x.columns; ++j) mean = mean + x(i, j) / width;
    mean = constant_if(way.norm_mean_constant, way.no_mean ? Number(0) : mean);
    Number variance;
    for (std::size_t j = 0; j < x.columns; ++j) {
      const Number away = x(i, j) - mean;
      variance = variance + away * away / (way.variance_of_sample ? width - 1 : width);
    }
    const double epsilon = 1e-5;
    Number deviation = sqrt(variance + (way.no_epsilon || way.epsilon_outside ? 0 : epsilon));
    if (way.epsilon_outside) deviation = deviation + epsilon;
    deviation = constant_if(way.norm_variance_constant, deviation);
    for (std::size_t j = 0; j < x.columns; ++j) {
      const Number normalized = (x(i, j) - mean) / deviation;
      const Number scaled = way.no_gain ? normalized : gain(0, j) * normalized;
      y(i, j) = way.no_norm_bias ? scaled : scaled + bias(0, j);
      if (way.norm_gain_forgotten) {
        y(i, j) = value_of(y(i, j), gain(0, j) * constant(normalized) + normalized + bias(0, j));
      }
    }
  }
  return y;
}

namespace {

Number gelu(const Number& x, const Way& way) {
  switch (way.bend) {
    case Bend::none:
      return x;
    case Bend::relu:
      return x.value > 0 ? x : Number(0) * x;
    case Bend::sigmoid:
      return x / (Number(1) + exp(Number(0) - Number(1.702) * x));
    case Bend::erf:
      return x / 2 * (Number(1) + erf(x / std::numbers::sqrt2));
    case Bend::tanh:
      break;
  }
  const Number inner = (x + Number(0.044715) * x * x * x) * std::sqrt(2 / std::numbers::pi);
  return x / 2 * (Number(1) + constant_if(way.tangent_constant, tanh(inner)));
}

}  // namespace

Table gelu(const Table& x, const Way& way) {
  Table y = x;
  for (Number& number : y.numbers) number = gelu(number, way);
  if (way.bent_twice) {
    for (Number& number : y.numbers) number = gelu(number, way);
  }
  return y;
}

Table softmax(const Table& scores, const Way& way) {
  Table weights = scores;
  for (std::size_t i = 0; i < scores.rows; ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < scores.columns; ++j) {
      largest = std::fmax(largest, scores(i, j).value);
    }
    Number total;
    for (std::size_t j = 0; j < scores.columns; ++j) {
      // e^-∞ is 0 whatever the score; its slope would be 0 times something that is not a number.
      const bool hidden = std::isinf(scores(i, j).value) && scores(i, j).value < 0;
      weights(i, j) = hidden ? Number(0) : exp(scores(i, j) - largest);
      total = total + weights(i, j);
    }
    if (total.value == 0) continue;
    for (std::size_t j = 0; j < scores.columns; ++j) {
      weights(i, j) = weights(i, j) / constant_if(way.softmax_total_constant, total);
    }
  }
  return weights;
}

namespace {

Table bias_or_zeros(const Table& bias, bool none) {
  return none ? Table(1, bias.columns) : bias;
}

Table dropped(const Table& x, const Table& factors, const Way& way) {
  if (factors.numbers.empty()) return x;
  Table kept = x;
  for (std::size_t k = 0; k < x.numbers.size(); ++k) {
    const double factor = factors.numbers[k].value;
    kept.numbers[k] = x.numbers[k] * factor;
    if (way.dropout_forgotten) kept.numbers[k] = value_of(kept.numbers[k], x.numbers[k]);
    if (way.dropout_unscaled && factor != 0) {
      kept.numbers[k] = value_of(kept.numbers[k], x.numbers[k]);
    }
  }
  return kept;
}

/// The columns of one head.
std::size_t column_of(std::size_t head, std::size_t j, std::size_t heads, std::size_t head_dim,
                      const Way& way) {
  return way.every_nth_column ? j * heads + head : head * head_dim + j;
}

struct Projections {
  Table queries, keys, values;
};

Projections project(const Table& x, const Weights& weights, const std::string& at, const Way& way) {
  const auto tensor = [&](const char* name) -> const Table& {
    return weights.at(at + "attention." + name);
  };
  Projections p;
  p.queries = linear(constant_if(way.queries_lead_nowhere, x), tensor("W_query"),
                     bias_or_zeros(tensor("b_query"), way.no_query_bias));
  p.keys = linear(constant_if(way.keys_lead_nowhere, x), tensor("W_key"),
                  bias_or_zeros(tensor("b_key"), way.no_key_bias));
  p.values = linear(constant_if(way.values_lead_nowhere, x), tensor("W_value"),
                    bias_or_zeros(tensor("b_value"), way.no_value_bias));
  if (way.keys_and_values_swapped) std::swap(p.keys, p.values);
  return p;
}

bool hidden(std::size_t i, std::size_t j, const Way& way) {
  if (way.no_mask) return false;
  if (way.diagonal_masked) return j > 0 && j >= i;
  return j > (way.mask_one_off ? i + 1 : i);
}

Table weights_of_head(const Projections& p, std::size_t first, const Shape& shape, std::size_t head,
                      const Way& way) {
  const std::size_t head_dim = p.queries.columns / shape.heads;
  const double divisor = way.divisor == 0 ? std::sqrt(static_cast<double>(head_dim)) : way.divisor;
  Table scores(shape.T, shape.T);
  for (std::size_t i = 0; i < shape.T; ++i) {
    for (std::size_t j = 0; j < shape.T; ++j) {
      Number score;
      for (std::size_t k = 0; k < head_dim; ++k) {
        const std::size_t column = column_of(head, k, shape.heads, head_dim, way);
        const std::size_t of_key =
            column_of(way.keys_of_first_head ? 0 : head, k, shape.heads, head_dim, way);
        score = score + p.queries(first + i, column) * p.keys(first + j, of_key);
      }
      const Number scaled = score / divisor;
      scores(i, j) = way.scale_forgotten ? value_of(scaled, score) : scaled;
      if (hidden(i, j, way)) scores(i, j) = -std::numeric_limits<double>::infinity();
    }
  }
  return softmax(scores, way);
}

Table attention_of_batch(const Table& x, const Weights& weights, const std::string& at,
                         const Shape& shape, const Way& way, const Factors& factors,
                         std::size_t layer) {
  const Projections p = project(x, weights, at, way);
  const std::size_t B = x.rows / shape.T;
  const std::size_t head_dim = x.columns / shape.heads;
  Table context(x.rows, x.columns);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      const std::size_t number = (layer * B + b) * shape.heads + h;
      const Table kept = dropped(weights_of_head(p, b * shape.T, shape, h, way),
                                 factors.heads.empty() ? Table() : factors.heads.at(number), way);
      for (std::size_t i = 0; i < shape.T; ++i) {
        for (std::size_t k = 0; k < head_dim; ++k) {
          Number blend;
          for (std::size_t j = 0; j < shape.T; ++j) {
            const std::size_t of_value =
                column_of(way.values_of_first_head ? 0 : h, k, shape.heads, head_dim, way);
            blend = blend + kept(i, j) * p.values(b * shape.T + j, of_value);
          }
          context(b * shape.T + i, column_of(h, k, shape.heads, head_dim, way)) = blend;
        }
      }
    }
  }
  if (way.no_W_out) return context;
  return linear(context, weights.at(at + "attention.W_out"),
                bias_or_zeros(weights.at(at + "attention.b_out"), way.no_out_bias));
}

}  // namespace

Table attention(const Table& x, const Weights& weights, const std::string& at, const Shape& shape,
                const Way& way, const Factors& factors, std::size_t layer) {
  if (!way.sequences_mixed) return attention_of_batch(x, weights, at, shape, way, factors, layer);
  Shape one = shape;
  one.T = x.rows;
  return attention_of_batch(x, weights, at, one, way, {}, layer);
}

Table attention_weights(const Table& x, const Weights& weights, const std::string& at,
                        const Shape& shape, std::size_t sequence, std::size_t head,
                        const Way& way) {
  return weights_of_head(project(x, weights, at, way), sequence * shape.T, shape, head, way);
}

Table feed_forward(const Table& x, const Weights& weights, const std::string& at, const Way& way) {
  const auto tensor = [&](const char* name) -> const Table& {
    return weights.at(at + "feed_forward." + name);
  };
  const Table up = linear(x, tensor("W_up"), bias_or_zeros(tensor("b_up"), way.no_up_bias));
  return linear(gelu(up, way), tensor("W_down"), bias_or_zeros(tensor("b_down"), way.no_down_bias));
}

Table block(const Table& x, const Weights& weights, const Shape& shape, std::size_t layer,
            const Way& way, const Factors& factors) {
  const std::string at = "blocks." + std::to_string(way.first_block_only ? 0 : layer) + ".";
  const auto norm = [&](const Table& t, int number) {
    if (number == 1 ? way.no_norm_1 : way.no_norm_2) return t;
    const std::string name = at + (number == 1 || way.norm_1_twice ? "norm_1." : "norm_2.");
    return layer_norm(t, weights.at(name + "gain"), weights.at(name + "bias"), way);
  };
  const auto factors_of = [&](const std::vector<Table>& all) {
    return all.empty() ? Table() : all.at(layer);
  };
  const auto attend = [&](const Table& t) {
    const Table half = attention(t, weights, at, shape, way, factors, layer);
    return constant_if(way.half_1_forgotten, dropped(half, factors_of(factors.halves_1), way));
  };
  const auto feed = [&](const Table& t) {
    const Table half = feed_forward(t, weights, at, way);
    return constant_if(way.half_2_forgotten, dropped(half, factors_of(factors.halves_2), way));
  };
  const Table beside_1 = constant_if(way.residual_1_forgotten, x);
  if (way.norm_after) {
    const Table middle = norm(sum(x, attend(x)), 1);
    return norm(sum(middle, feed(middle)), 2);
  }
  if (way.norm_replaces_residual) {
    const Table normed = norm(x, 1);
    const Table middle = norm(sum(normed, attend(normed)), 2);
    return sum(middle, feed(middle));
  }
  if (way.feed_forward_first) {
    const Table middle = sum(x, feed(norm(x, 2)));
    return sum(middle, attend(norm(middle, 1)));
  }
  const Table half_1 = attend(norm(x, 1));
  const Table middle = way.no_residual_1 ? half_1 : sum(beside_1, half_1);
  const Table half_2 = feed(norm(way.side_by_side ? x : middle, 2));
  return way.no_residual_2 ? half_2 : sum(constant_if(way.residual_2_forgotten, middle), half_2);
}

Table model(const Weights& weights, const Shape& shape, const std::vector<int>& tokens,
            const Way& way, const Factors& factors) {
  const Table symbols = constant_if(way.embedding_constant, weights.at("token_embedding"));
  const Table& places = weights.at("position_embedding");
  Table x(tokens.size(), symbols.columns);
  for (std::size_t i = 0; i < x.rows; ++i) {
    std::size_t place = i % shape.T;
    if (way.position_of_next) place = (place + 1) % places.rows;
    if (way.position_of_sequence) place = i / shape.T % places.rows;
    for (std::size_t j = 0; j < x.columns; ++j) {
      const Number& symbol = symbols(static_cast<std::size_t>(tokens[i]), j);
      x(i, j) = way.no_positions ? symbol : symbol + places(place, j);
    }
  }
  x = dropped(x, factors.embedded, way);
  for (std::size_t k = 0; k < shape.layers; ++k) {
    x = block(x, weights, shape, way.blocks_in_reverse ? shape.layers - 1 - k : k, way, factors);
  }
  if (!way.no_last_norm) {
    x = layer_norm(x, weights.at("norm.gain"), weights.at("norm.bias"), way);
  }
  const bool separate = weights.contains("head");
  const Table& head = weights.at(separate ? "head" : "token_embedding");
  const Table logits =
      linear(x, transposed(constant_if(way.head_constant, head)), Table(1, head.rows));
  return way.softmax_of_logits ? softmax(logits) : logits;
}

Number cross_entropy(const Table& logits, const std::vector<int>& targets, const Way& way) {
  Number sum;
  for (std::size_t i = 0; i < logits.rows; ++i) {
    Number total;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < logits.columns; ++j) {
      largest = std::fmax(largest, logits(i, j).value);
    }
    for (std::size_t j = 0; j < logits.columns; ++j) total = total + exp(logits(i, j) - largest);
    sum = sum + log(total) + largest - logits(i, static_cast<std::size_t>(targets[i]));
  }
  return way.loss_summed ? sum : sum / static_cast<double>(logits.rows);
}

// --- the optimizer -------------------------------------------------------------------------------

namespace {

double norm_of(const Matrices& gradients, const std::string& only = "") {
  double sum = 0;
  for (const auto& [name, gradient] : gradients) {
    if (!only.empty() && name != only) continue;
    for (const Real g : gradient) sum += static_cast<double>(g) * static_cast<double>(g);
  }
  return std::sqrt(sum);
}

}  // namespace

void Optimizer::step(Weights& weights, const Matrices& gradients, double rate) {
  ++steps;
  const auto t = static_cast<double>(steps);
  const double whole = norm_of(gradients);
  for (auto& [name, table] : weights) {
    const Matrix& gradient = gradients.at(name);
    const double norm = clip_by_tensor ? norm_of(gradients, name) : whole;
    const double factor = norm > clip ? clip / norm : 1;
    const bool matrix = table.rows > 1;  // in the tests every matrix has two rows or more
    const bool decays = decay_everywhere || (matrix && !decay_nowhere);
    std::vector<double>& m = mean[name];
    std::vector<double>& v = square[name];
    m.resize(table.numbers.size());
    v.resize(table.numbers.size());
    for (std::size_t k = 0; k < m.size(); ++k) {
      const double w = table.numbers[k].value;
      double g = static_cast<double>(gradient.data()[k]) * (clip_after ? 1 : factor);
      if (decay_in_gradient && decays) g += decay * w;
      m[k] = beta_1 * m[k] + (1 - beta_1) * g;
      v[k] = beta_2 * v[k] + (1 - beta_2) * g * g;
      const double mean_now = no_correction ? m[k] : m[k] / (1 - std::pow(beta_1, t));
      const double square_now = no_correction ? v[k] : v[k] / (1 - std::pow(beta_2, t));
      const double shrunk = decays && !decay_in_gradient ? w - rate * decay * w : w;
      const double direction = mean_now / (epsilon_under_root ? std::sqrt(square_now + epsilon)
                                                              : std::sqrt(square_now) + epsilon);
      table.numbers[k] = shrunk - rate * direction * (clip_after ? factor : 1);
    }
  }
}

// --- what the usual mistakes are called
// -----------------------------------------------------------

const std::vector<Mistake>& mistakes_forward() {
  static const std::vector<Mistake> all = {
      {"the norm comes after the sum, not before the half (GPT-2 is pre-norm)",
       {.norm_after = true}},
      {"the norm's output goes on beside the half: it replaces the residual",
       {.norm_replaces_residual = true}},
      {"there is no residual around the attention", {.no_residual_1 = true}},
      {"there is no residual around the feed-forward network", {.no_residual_2 = true}},
      {"there is no residual at all", {.no_residual_1 = true, .no_residual_2 = true}},
      {"the feed-forward network reads what the attention read, not what came out of it",
       {.side_by_side = true}},
      {"both halves are normed by norm_1", {.norm_1_twice = true}},
      {"there is no norm before the attention", {.no_norm_1 = true}},
      {"there is no norm before the feed-forward network", {.no_norm_2 = true}},
      {"the feed-forward network comes first", {.feed_forward_first = true}},
      {"the variance is divided by n - 1, not by n", {.variance_of_sample = true}},
      {"the norm's gain is forgotten", {.no_gain = true}},
      {"the norm's bias is forgotten", {.no_norm_bias = true}},
      {"the norm has no epsilon", {.no_epsilon = true}},
      {"the norm's epsilon is added to the deviation, not to the variance",
       {.epsilon_outside = true}},
      {"the norm does not take the mean away", {.no_mean = true}},
      {"the norm goes down the columns, not along the rows", {.norm_down_the_columns = true}},
      {"ReLU stands where GELU should", {.bend = Bend::relu}},
      {"this is the GELU with erf, not GPT-2's with tanh", {.bend = Bend::erf}},
      {"this is the GELU with a sigmoid, not GPT-2's with tanh", {.bend = Bend::sigmoid}},
      {"nothing bends between the two linear layers: there is no GELU", {.bend = Bend::none}},
      {"GELU is applied twice", {.bent_twice = true}},
      {"b_up is forgotten", {.no_up_bias = true}},
      {"b_down is forgotten", {.no_down_bias = true}},
      {"the scores are not divided by √head_dim", {.divisor = 1}},
      {"there is no mask", {.no_mask = true}},
      {"the mask hides a token from itself", {.diagonal_masked = true}},
      {"the mask lets a token read the one after it", {.mask_one_off = true}},
      {"b_query is forgotten", {.no_query_bias = true}},
      {"b_key is forgotten", {.no_key_bias = true}},
      {"b_value is forgotten", {.no_value_bias = true}},
      {"b_out is forgotten", {.no_out_bias = true}},
      {"there is no W_out", {.no_W_out = true}},
      {"a head takes every n-th column, not columns side by side", {.every_nth_column = true}},
      {"all heads use the keys of the first", {.keys_of_first_head = true}},
      {"all heads blend the values of the first", {.values_of_first_head = true}},
      {"keys and values are swapped", {.keys_and_values_swapped = true}},
      {"the sequences of the batch read each other", {.sequences_mixed = true}},
      {"there is no position embedding", {.no_positions = true}},
      {"each token has the position of the next", {.position_of_next = true}},
      {"the position is the number of the sequence, not the place in it",
       {.position_of_sequence = true}},
      {"there is no norm before the head", {.no_last_norm = true}},
      {"all blocks have the weights of the first", {.first_block_only = true}},
      {"the last block comes first", {.blocks_in_reverse = true}},
      {"these are shares, not logits", {.softmax_of_logits = true}},
  };
  return all;
}

const std::vector<Mistake>& mistakes_backward() {
  static const std::vector<Mistake> all = {
      {"layer norm goes back as if the mean were a constant", {.norm_mean_constant = true}},
      {"layer norm goes back as if the variance were a constant", {.norm_variance_constant = true}},
      {"layer norm goes back as if mean and variance were constants",
       {.norm_mean_constant = true, .norm_variance_constant = true}},
      {"layer norm forgets the gain on the way back", {.norm_gain_forgotten = true}},
      {"GELU goes back as if the tanh were a constant: the product rule has two terms",
       {.tangent_constant = true}},
      {"softmax goes back as if its total were a constant: - g · w is missing",
       {.softmax_total_constant = true}},
      {"the division by √head_dim is missing on the way back", {.scale_forgotten = true}},
      {"what comes back through the queries does not reach the input",
       {.queries_lead_nowhere = true}},
      {"what comes back through the keys does not reach the input", {.keys_lead_nowhere = true}},
      {"what comes back through the values does not reach the input",
       {.values_lead_nowhere = true}},
      {"the gradient of the residual around the attention is forgotten",
       {.residual_1_forgotten = true}},
      {"the gradient of the residual around the feed-forward network is forgotten",
       {.residual_2_forgotten = true}},
      {"no gradient goes through the attention", {.half_1_forgotten = true}},
      {"no gradient goes through the feed-forward network", {.half_2_forgotten = true}},
      {"the token embedding learns nothing as the head", {.head_constant = true}},
      {"the token embedding learns nothing from the input, only as the head",
       {.embedding_constant = true}},
      {"the gradient of what was dropped comes back", {.dropout_forgotten = true}},
      {"dropout does not scale the gradient by 1 / (1 - p)", {.dropout_unscaled = true}},
      {"the loss is summed, not averaged", {.loss_summed = true}},
  };
  return all;
}

}  // namespace slow
