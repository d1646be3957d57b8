/// @file
/// @brief The parts of a block that treat each token for itself, forward and backward, and the list
/// of a model's tensors, as tests.

#include <set>

#include "07_examples.hpp"
#include "feed_forward.hpp"
#include "layer_norm.hpp"
#include "loss.hpp"

namespace {

using slow::Table;
using slow::Way;
using slow::Weights;

constexpr Real infinity = std::numeric_limits<Real>::infinity();

Matrix random_matrix(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  Generator generator(seed);
  return normal_matrix(rows, columns, generator);
}

Vector random_vector(std::size_t size, std::uint64_t seed) {
  Generator generator(seed);
  Vector v(Vector::shape_type{size}, 0);
  for (Real& number : v) number = generator.normal();
  return v;
}

// --- a linear layer ------------------------------------------------------------------------------

struct LinearExample {
  Matrix x = random_matrix(5, 4, 1);
  Matrix W = random_matrix(4, 3, 2);
  Vector b = random_vector(3, 3);
  Matrix grad_y = random_matrix(5, 3, 4);

  Weights inputs() const {
    return {{"x", Table(x)}, {"W", Table(W)}, {"b", Table(as_row(row(b)))}};
  }
  Matrix gradient_of(const std::string& name) const {
    return slow::gradients(inputs(),
                           [this](const Weights& in) {
                             return slow::weighted_sum(
                                 slow::linear(in.at("x"), in.at("W"), in.at("b")), grad_y);
                           })
        .at(name);
  }
};

// --- layer norm ----------------------------------------------------------------------------------

struct NormExample {
  Matrix x = random_matrix(4, 7, 11);
  LayerNorm norm{7};
  Matrix grad_output = random_matrix(4, 7, 12);

  NormExample() {
    norm.gain = random_vector(7, 13);
    norm.bias = random_vector(7, 14);
  }
  Matrix output(const Way& way = {}) const {
    return slow::values(slow::layer_norm(Table(x), Table(as_row(row(norm.gain))),
                                         Table(as_row(row(norm.bias))), way));
  }
  Matrix gradient_of(const std::string& name, const Way& way = {}) const {
    const Weights inputs = {{"x", Table(x)},
                            {"gain", Table(as_row(row(norm.gain)))},
                            {"bias", Table(as_row(row(norm.bias)))}};
    return slow::gradients(inputs,
                           [&](const Weights& in) {
                             return slow::weighted_sum(
                                 slow::layer_norm(in.at("x"), in.at("gain"), in.at("bias"), way),
                                 grad_output);
                           })
        .at(name);
  }
  LayerNormPass pass() const {
    LayerNormPass pass(x.shape(0), x.shape(1));
    norm.forward(pass, x);
    return pass;
  }
};

// --- the feed-forward network --------------------------------------------------------------------

struct FeedForwardExample {
  FeedForward network{3};
  Matrix x = random_matrix(5, 3, 21);
  Matrix grad_output = random_matrix(5, 3, 22);

  FeedForwardExample() {
    network.W_up = times(random_matrix(3, 12, 23), 0.7);
    network.b_up = random_vector(12, 24);
    network.W_down = times(random_matrix(12, 3, 25), 0.4);
    network.b_down = random_vector(3, 26);
  }
  Weights inputs() const {
    return {{"x", Table(x)},
            {"feed_forward.W_up", Table(network.W_up)},
            {"feed_forward.b_up", Table(as_row(row(network.b_up)))},
            {"feed_forward.W_down", Table(network.W_down)},
            {"feed_forward.b_down", Table(as_row(row(network.b_down)))}};
  }
  Matrix output(const Way& way = {}) const {
    return slow::values(slow::feed_forward(Table(x), inputs(), "", way));
  }
  Matrix gradient_of(const std::string& name, const Way& way = {}) const {
    return slow::gradients(inputs(),
                           [&](const Weights& in) {
                             return slow::weighted_sum(slow::feed_forward(in.at("x"), in, "", way),
                                                       grad_output);
                           })
        .at(name);
  }
  FeedForwardPass pass() const {
    FeedForwardPass pass(x.shape(0), x.shape(1));
    network.forward(pass, x);
    return pass;
  }
};

Matrix gelu(const Matrix& x) {
  Matrix y = x;
  Matrix tangent = x;
  Gelu::forward(y, tangent, x);
  return y;
}

Matrix gelu_backward(const Matrix& grad, const Matrix& x) {
  Matrix y = x;
  Matrix tangent = x;
  Gelu::forward(y, tangent, x);
  Matrix result = grad;
  Gelu::backward(result, tangent, x);
  return result;
}

Matrix softmax_of(Matrix scores) {
  for (std::size_t i = 0; i < scores.shape(0); ++i) softmax(row(scores, i));
  return scores;
}

}  // namespace

TEST_CASE("a linear layer is x W plus b for each row") {
  const LinearExample e;
  Matrix y = random_matrix(5, 3, 5);  // what was there before
  const Matrix before = y;
  linear(y, e.x, e.W, e.b);
  const Matrix right = slow::values(slow::linear(Table(e.x), Table(e.W), Table(as_row(row(e.b)))));
  const Matrix without_bias = slow::values(slow::linear(Table(e.x), Table(e.W), Table(1, 3)));
  CHECK_THAT(y, equals(right)
                    .unless("the bias is forgotten", without_bias)
                    .unless("the result is added to what was there", reference::sum(before, right))
                    .unless("the product is added to what was there, without the bias",
                            reference::sum(before, without_bias)));
  Matrix square = random_matrix(5, 4, 6);
  const Matrix W = random_matrix(4, 4, 7);
  const Vector zeros(Vector::shape_type{4}, 0);
  linear(square, e.x, W, zeros);
  CHECK_THAT(square, equals(slow::values(slow::linear(Table(e.x), Table(W), Table(1, 4))))
                         .unless("W is used transposed",
                                 slow::values(slow::linear(
                                     Table(e.x), Table(reference::transposed(W)), Table(1, 4)))));
  CHECK_THAT(message_of([&] { linear(y, e.x, reference::transposed(e.W), e.b); }),
             ContainsSubstring("(3, 4)"));
}

TEST_CASE("the gradients of a linear layer are sums over all rows and are added to") {
  const LinearExample e;
  const Matrix W_before = random_matrix(4, 3, 8);
  const Matrix b_before = random_matrix(1, 3, 9);
  Matrix grad_W = W_before;
  Vector grad_b(Vector::shape_type{3}, 0);
  std::copy(b_before.begin(), b_before.end(), grad_b.begin());
  linear_backward(grad_W, grad_b, e.grad_y, e.x);
  const Matrix last = rows_of(e.grad_y, 4, 1);
  const Matrix first = rows_of(e.grad_y, 0, 1);
  const Matrix of_b = e.gradient_of("b");
  {
    INFO("the gradient of W");
    CHECK_THAT(grad_W, adds_the_gradient(W_before, [&](const Way&) { return e.gradient_of("W"); })
                           .unless("the mean over the rows stands where their sum should",
                                   reference::sum(W_before, times(e.gradient_of("W"), 0.2))));
  }
  INFO("the gradient of b");
  CHECK_THAT(as_row(row(grad_b)),
             adds_the_gradient(b_before, [&](const Way&) { return of_b; })
                 .unless("only the last row counts for the bias", reference::sum(b_before, last))
                 .unless("only the first row counts for the bias", reference::sum(b_before, first))
                 .unless("the mean over the rows stands where their sum should",
                         reference::sum(b_before, times(of_b, 0.2))));
}

TEST_CASE("layer norm brings each row to mean 0 and variance 1 and then to gain and bias") {
  const NormExample e;
  const LayerNormPass pass = e.pass();
  CHECK_THAT(pass.output, is_computed_by([&](const Way& way) { return e.output(way); }));
  NormExample plain = e;
  plain.norm = LayerNorm(7);
  CHECK_THAT(pass.normalized, equals(plain.output()).unless("gain and bias are in it", e.output()));
  CHECK_THAT(plain.pass().output, equals(plain.output()));
}

TEST_CASE("layer norm leaves a constant row at its bias and a quiet row below variance 1") {
  NormExample e;
  e.x = times(e.x, 3e-3);  // a variance near epsilon
  for (std::size_t j = 0; j < 7; ++j) e.x(1, j) = 5;
  CHECK_THAT(e.pass().output, is_computed_by([&](const Way& way) { return e.output(way); }));
  CHECK_THAT(rows_of(e.pass().output, 1, 1), equals(as_row(row(e.norm.bias))));
}

TEST_CASE("layer norm keeps its digits in a row far from zero") {
  NormExample e;
  for (std::size_t i = 0; i < 4; ++i) {  // exact in float, and so is the mean of 1000
    Real left = 0;
    for (std::size_t j = 0; j < 6; ++j) left += e.x(i, j) = std::round(e.x(i, j) * 8) / 8;
    e.x(i, 6) = -left;
  }
  for (Real& x : e.x) x += 1000;
  const Matrix got = e.pass().output;
  INFO("where the variance is the mean square minus the squared mean, in float, its digits cancel");
  CHECK_THAT(got, is_computed_by([&](const Way& way) { return e.output(way); }));
}

TEST_CASE("the gradient of layer norm goes through mean and variance and gain") {
  const NormExample e;
  const Matrix x_before = random_matrix(4, 7, 15);
  const Matrix gain_before = random_matrix(1, 7, 16);
  const Matrix bias_before = random_matrix(1, 7, 17);
  Matrix grad_x = x_before;
  LayerNorm gradient(7);
  std::copy(gain_before.begin(), gain_before.end(), gradient.gain.begin());
  std::copy(bias_before.begin(), bias_before.end(), gradient.bias.begin());
  e.norm.backward(grad_x, gradient, e.grad_output, e.pass());
  const auto of = [&](const std::string& name) {
    return [&, name](const Way& way) { return e.gradient_of(name, way); };
  };
  {
    INFO("the gradient of the input");
    CHECK_THAT(grad_x, adds_the_gradient(x_before, of("x")));
  }
  {
    INFO("the gradient of the gain");
    Matrix by_output = matrix(1, 7);
    const Matrix output = e.output();
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 7; ++j) by_output(0, j) += e.grad_output(i, j) * output(i, j);
    }
    CHECK_THAT(as_row(row(gradient.gain)),
               adds_the_gradient(gain_before, of("gain"))
                   .unless("the gain learns from the output, not from the normalised numbers",
                           reference::sum(gain_before, by_output)));
  }
  INFO("the gradient of the bias");
  CHECK_THAT(as_row(row(gradient.bias)), adds_the_gradient(bias_before, of("bias")));
}

TEST_CASE("GELU is the one with the hyperbolic tangent and saturates at both ends") {
  Matrix x = random_matrix(3, 9, 31);
  x(0, 0) = 0;
  x(0, 1) = 100;
  x(0, 2) = -100;
  x(0, 3) = 3;
  x(0, 4) = -3;
  const auto result = [&x](const Way& way) { return slow::values(slow::gelu(Table(x), way)); };
  CHECK_THAT(gelu(x), is_computed_by(result));
  CHECK(gelu(x)(0, 1) == 100);
  CHECK(gelu(x)(0, 2) == 0);
}

TEST_CASE("the gradient of GELU is its slope times what comes back") {
  Matrix x = random_matrix(3, 9, 32);
  x(0, 0) = 0;
  x(0, 1) = 100;
  x(0, 2) = -100;
  const Matrix grad = random_matrix(3, 9, 33);
  const auto result = [&](const Way& way) {
    return slow::gradients({{"x", Table(x)}},
                           [&](const Weights& in) {
                             return slow::weighted_sum(slow::gelu(in.at("x"), way), grad);
                           })
        .at("x");
  };
  const Matrix ones = matrix(3, 9, 1);
  const Matrix slopes = gelu_backward(ones, x);
  CHECK_THAT(
      gelu_backward(grad, x),
      is_the_gradient(result).unless("the slope stands where slope times gradient should", slopes));
}

TEST_CASE("the feed-forward network is wide and bent and narrow again") {
  const FeedForwardExample e;
  const FeedForwardPass pass = e.pass();
  CHECK_THAT(pass.output, is_computed_by([&](const Way& way) { return e.output(way); }));
  CHECK(shape_text(pass.up) == "(5, 12)");
  CHECK(shape_text(pass.bent) == "(5, 12)");
}

TEST_CASE("the gradients of the feed-forward network reach its weights and its input") {
  const FeedForwardExample e;
  FeedForwardPass pass = e.pass();
  FeedForward gradient(3);
  for (Matrix* W : {&gradient.W_up, &gradient.W_down}) W->fill(Real(0.5));
  for (Vector* b : {&gradient.b_up, &gradient.b_down}) b->fill(Real(0.5));
  Matrix grad_x = random_matrix(5, 3, 27);
  e.network.backward(grad_x, gradient, e.grad_output, pass, e.x);
  const auto check = [&e](const std::string& name, const Matrix& got) {
    INFO("the gradient of " << name);
    const Matrix before(got.shape(), Real(0.5));
    CHECK_THAT(got, adds_the_gradient(before, [&](const Way& way) {
                 return e.gradient_of("feed_forward." + name, way);
               }));
  };
  check("W_up", gradient.W_up);
  check("b_up", as_row(row(gradient.b_up)));
  check("W_down", gradient.W_down);
  check("b_down", as_row(row(gradient.b_down)));
  INFO("the gradient of the input, which is written and not added to");
  CHECK_THAT(grad_x, is_the_gradient([&](const Way& way) { return e.gradient_of("x", way); }));
}

TEST_CASE("each token goes through norm and feed-forward for itself", "[A22]") {
  const NormExample n;
  const FeedForwardExample f;
  NormExample other_n = n;
  FeedForwardExample other_f = f;
  for (Real& x : row(other_n.x, 2)) x += 3;
  for (Real& x : row(other_f.x, 2)) x += 3;
  for (const std::size_t i : {0U, 1U, 3U}) {
    INFO("row " << i << " changes with row 2: tokens are mixed where only attention may");
    CHECK(identical(rows_of(n.pass().output, i, 1), rows_of(other_n.pass().output, i, 1)));
    CHECK(same(rows_of(f.pass().output, i, 1), rows_of(other_f.pass().output, i, 1)));
  }
}

TEST_CASE("softmax in place gives shares and exact zeros for what is hidden") {
  const Matrix scores = {{1, 2, -infinity, 0}, {1000, 999, -1000, -infinity}, {-5, -5, -5, -5}};
  const Matrix weights = softmax_of(scores);
  CHECK_THAT(weights, equals(slow::values(slow::softmax(Table(scores)))));
  CHECK(weights(0, 2) == 0);
  CHECK(weights(1, 3) == 0);
  const Matrix nothing_to_read = {{-infinity, -infinity, -infinity}};
  INFO("a row that may read nothing gets zeros");
  CHECK_THAT(softmax_of(nothing_to_read), equals({{0, 0, 0}}));
}

TEST_CASE("the gradient of softmax pulls at a weight and pushes at all others") {
  const Matrix scores = random_matrix(3, 5, 41);
  const Matrix grad = random_matrix(3, 5, 42);
  const Matrix weights = softmax_of(scores);
  Matrix got = grad;
  for (std::size_t i = 0; i < 3; ++i) softmax_backward(row(got, i), row(weights, i));
  CHECK_THAT(got, is_the_gradient([&](const Way& way) {
               return slow::gradients({{"x", Table(scores)}},
                                      [&](const Weights& in) {
                                        return slow::weighted_sum(slow::softmax(in.at("x"), way),
                                                                  grad);
                                      })
                   .at("x");
             }));
  INFO("a number added to all scores changes nothing: each row of the gradient sums to 0");
  for (const Real sum : row_sums(got)) CHECK(std::abs(sum) < tolerance);
}

TEST_CASE("dropout zeroes numbers while training and scales up the rest", "[A15]") {
  const Matrix x = random_matrix(30, 40, 51);
  Generator generator(52);
  const Dropout dropout{Real(0.25), &generator};
  Matrix kept, factors;
  const Matrix& result = dropout.forward(kept, factors, x);
  CHECK(&result == &kept);
  std::size_t zeros = 0;
  Matrix left = x;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (kept.data()[k] != 0) continue;
    ++zeros;
    left.data()[k] = 0;
  }
  INFO("dropout hides " << zeros << " of 1200 numbers; it should hide about 300");
  CHECK(zeros > 220);
  CHECK(zeros < 380);
  CHECK_THAT(kept, equals(times(left, 1 / 0.75))
                       .unless("what dropout keeps is not scaled up by 1 / (1 - p)", left)
                       .unless("what dropout keeps is divided by p", times(left, 1 / 0.25)));
  {
    INFO("whole columns are dropped: each number needs a draw of its own");
    CHECK(std::count(row(kept, 0).begin(), row(kept, 0).end(), Real(0)) > 0);
    for (std::size_t j = 0; j < 40; ++j) {
      std::size_t in_column = 0;
      for (std::size_t i = 0; i < 30; ++i) in_column += kept(i, j) == 0 ? 1U : 0U;
      CHECK(in_column < 25);
    }
    for (std::size_t i = 0; i < 30; ++i) {
      CHECK(std::count(row(kept, i).begin(), row(kept, i).end(), Real(0)) < 30);
    }
  }
  const Matrix first = kept;
  dropout.forward(kept, factors, x);
  INFO("the next pass drops the same numbers");
  CHECK_FALSE(identical(kept, first));
}

TEST_CASE("dropout goes back through the factors of its forward", "[A15]") {
  const Matrix x = random_matrix(6, 5, 53);
  const Matrix grad = random_matrix(6, 5, 54);
  Generator generator(55);
  const Dropout dropout{Real(0.4), &generator};
  Matrix kept, factors, grad_x;
  dropout.forward(kept, factors, x);
  const Matrix& got = dropout.backward(grad_x, factors, grad);
  const Table of_forward(factors);
  Matrix right = grad;
  Matrix unscaled = grad;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const bool dropped = kept.data()[k] == 0;
    right.data()[k] = dropped ? 0 : grad.data()[k] / Real(0.6);
    if (dropped) unscaled.data()[k] = 0;
  }
  CHECK_THAT(got, equals(right)
                      .unless("the gradient of what was dropped comes back", grad)
                      .unless("dropout does not scale the gradient by 1 / (1 - p)", unscaled));
  Matrix in_place = grad;
  dropout.backward(in_place, factors, in_place);
  CHECK_THAT(in_place, equals(right));
}

TEST_CASE("without a generator dropout hands its input on", "[A15]") {
  Matrix x = random_matrix(2, 3, 56);
  Matrix kept, factors;
  Generator generator(57);
  for (const Dropout& off : {Dropout{Real(0.9), nullptr}, Dropout{0, &generator}, Dropout{}}) {
    INFO("dropout is active in evaluation");
    CHECK_FALSE(off.on());
    CHECK(&off.forward(kept, factors, x) == &x);
    CHECK(&off.backward(kept, factors, x) == &x);
  }
  CHECK_THAT(message_of([&] {
               Dropout{Real(1.5), &generator}.forward(kept, factors, x);
             }),
             ContainsSubstring("1.5"));
  CHECK_THAT(message_of([&] {
               Dropout{Real(-1), nullptr}.forward(kept, factors, x);
             }),
             ContainsSubstring("-1"));
  CHECK_THAT((Dropout{1, &generator}.forward(kept, factors, x)), equals(times(x, 0)));
}

TEST_CASE("measured gradients agree with those of a linear layer and of GELU and softmax") {
  LinearExample e;
  Matrix grad_W(e.W.shape(), 0);
  Vector grad_b(Vector::shape_type{3}, 0);
  linear_backward(grad_W, grad_b, e.grad_y, e.x);
  const auto mapped = [&e] {
    Matrix y(e.grad_y.shape(), 0);
    linear(y, e.x, e.W, e.b);
    return weighted_sum(y, e.grad_y);
  };
  check_measured("W", numbers(grad_W), numbers(e.W), mapped);
  check_measured("b", row(grad_b), row(e.b), mapped);

  Matrix x = random_matrix(3, 5, 71);
  const Matrix grad = random_matrix(3, 5, 72);
  const Matrix of_gelu = gelu_backward(grad, x);
  check_measured("GELU", numbers(of_gelu), numbers(x), [&] { return weighted_sum(gelu(x), grad); });
  const Matrix weights = softmax_of(x);
  Matrix of_softmax = grad;
  for (std::size_t i = 0; i < 3; ++i) softmax_backward(row(of_softmax, i), row(weights, i));
  check_measured("softmax", numbers(of_softmax), numbers(x),
                 [&] { return weighted_sum(softmax_of(x), grad); });
}

TEST_CASE("measured gradients agree with those of layer norm") {
  NormExample e;
  Matrix grad_x(e.x.shape(), 0);
  LayerNorm gradient(7);
  gradient.gain.fill(0);
  e.norm.backward(grad_x, gradient, e.grad_output, e.pass());
  const auto normed = [&e] { return weighted_sum(e.pass().output, e.grad_output); };
  check_measured("x", numbers(grad_x), numbers(e.x), normed);
  check_measured("gain", row(gradient.gain), row(e.norm.gain), normed);
  check_measured("bias", row(gradient.bias), row(e.norm.bias), normed);
}

TEST_CASE("measured gradients agree with those of the feed-forward network") {
  FeedForwardExample e;
  FeedForward gradient(3);
  FeedForwardPass pass = e.pass();
  Matrix grad_x(e.x.shape(), 0);
  e.network.backward(grad_x, gradient, e.grad_output, pass, e.x);
  const auto fed = [&e] { return weighted_sum(e.pass().output, e.grad_output); };
  check_measured("x", numbers(grad_x), numbers(e.x), fed);
  check_measured("W_up", numbers(gradient.W_up), numbers(e.network.W_up), fed);
  check_measured("b_up", row(gradient.b_up), row(e.network.b_up), fed);
  check_measured("W_down", numbers(gradient.W_down), numbers(e.network.W_down), fed);
  check_measured("b_down", row(gradient.b_down), row(e.network.b_down), fed);
}

TEST_CASE("measured gradients agree with those of the loss", "[C8]") {
  Matrix logits = random_matrix(4, 6, 73);
  const std::vector<int> targets = {5, 0, 2, 2};
  Matrix grad = logits;
  cross_entropy(grad, targets);
  cross_entropy_backward(grad, targets, 1);
  check_measured("the logits", numbers(grad), numbers(logits), [&] {
    Matrix shares = logits;
    return cross_entropy(shares, targets);
  });
}

TEST_CASE("the loss of a row is how surprising its target is", "[C8]") {
  const Matrix logits = random_matrix(4, 6, 61);
  const std::vector<int> targets = {5, 0, 2, 2};
  Matrix shares = logits;
  const double loss = cross_entropy(shares, targets);
  const double right = slow::cross_entropy(Table(logits), targets).value;
  CHECK_THAT(number(loss),
             equals(number(right))
                 .unless("the loss is summed, not averaged", number(4 * right))
                 .unless("the loss has the wrong sign", number(-right))
                 .unless("the logarithm is that of base 2", number(right / std::log(2.0))));
  CHECK_THAT(shares, equals(slow::values(slow::softmax(Table(logits))))
                         .unless("the logits are left as they were", logits));
}

TEST_CASE("the loss stays finite where the share of the target is 0", "[C8]") {
  Matrix shares = {{1000, -1000, 0}, {-1000, -1000, -1000}};
  const std::vector<int> targets = {1, 0};
  CHECK_THAT(cross_entropy(shares, targets), WithinRel((2000 + std::log(3.0)) / 2, tolerance));
  CHECK_THAT(shares, equals({{1, 0, 0}, {Real(1) / 3, Real(1) / 3, Real(1) / 3}}));
}

TEST_CASE("the gradient of the loss is share minus 1 at the target, averaged", "[C8]") {
  const Matrix logits = random_matrix(4, 6, 62);
  const std::vector<int> targets = {5, 0, 2, 2};
  for (const double part : {1.0, 0.25}) {
    Matrix shares = logits;
    cross_entropy(shares, targets);
    const Matrix only_shares = shares;
    cross_entropy_backward(shares, targets, static_cast<Real>(part));
    const auto result = [&](const Way& way) {
      const Matrix whole = slow::gradients({{"x", Table(logits)}}, [&](const Weights& in) {
                             return slow::cross_entropy(in.at("x"), targets, way);
                           }).at("x");
      return times(whole, part);
    };
    INFO("these rows count for " << part << " of the batch");
    CHECK_THAT(shares,
               is_the_gradient(result)
                   .unless("the shares alone: the 1 at the target is missing",
                           times(only_shares, part / 4))
                   .unless("the part of the batch is forgotten", times(result({}), 1 / part)));
  }
}

TEST_CASE("a target that is no symbol and rows without targets are refused") {
  Matrix logits = random_matrix(2, 3, 63);
  const std::vector<int> too_large = {0, 3};
  const std::vector<int> negative = {0, -1};
  const std::vector<int> too_few = {1};
  CHECK_THAT(message_of([&] { cross_entropy(logits, too_large); }),
             ContainsSubstring("target 3 of 3"));
  CHECK_THAT(message_of([&] { cross_entropy(logits, negative); }),
             ContainsSubstring("target -1 of 3"));
  CHECK_THAT(message_of([&] { cross_entropy(logits, too_few); }),
             ContainsSubstring("1 targets for 2 rows"));
  Matrix none = matrix(0, 3);
  CHECK_THAT(message_of([&] { cross_entropy(none, {}); }),
             ContainsSubstring("0 targets for 0 rows"));
}

TEST_CASE("the tensors of a model are all of its numbers and each has a name of its own") {
  for (const ModelSizes& s : model_sizes()) {
    GPT2 model = random_example(s).model;
    std::set<std::string> names;
    std::set<const Real*> places;
    for (const Parameter& parameter : model.parameters()) {
      INFO(parameter.name);
      CHECK(names.insert(parameter.name).second);
      CHECK(places.insert(parameter.numbers.data()).second);
      std::size_t product = 1;
      for (const std::size_t side : parameter.shape) product *= side;
      CHECK(parameter.numbers.size() == product);
      CHECK(parameter.is_matrix() == (parameter.shape.size() == 2));
    }
    CHECK(names.size() == 4 + 16 * s.layers + (s.separate_head ? 1 : 0));
  }
}
