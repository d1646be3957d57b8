/// @file
/// @brief Attention with a batch and a backward, and the block of GPT-2 around it, as tests.

#include "07_examples.hpp"

namespace {

using slow::Table;
using slow::Way;
using slow::Weights;

/// A block alone: the first of a random model's, and an input as wide as it.
struct BlockExample {
  ModelSizes sizes;
  Example example;
  Matrix x;
  Matrix grad_output;

  explicit BlockExample(const ModelSizes& s) : sizes(s), example(random_example(s)) {
    Generator generator(s.seed + 100);
    x = normal_matrix(s.B * s.T, s.width, generator);
    grad_output = normal_matrix(s.B * s.T, s.width, generator);
  }
  Block& block() { return example.model.blocks[0]; }
  const Block& block() const { return example.model.blocks[0]; }

  /// The block's own weights, and x.
  Weights inputs() const {
    Weights all = {{"x", Table(x)}};
    for (const auto& [name, table] : weights_of(example.model)) {
      if (name.rfind("blocks.0.", 0) == 0) all[name] = table;
    }
    return all;
  }

  BlockPass pass(const Dropout& dropout = {}) const {
    BlockPass pass(sizes.B, sizes.T, sizes.width, sizes.heads);
    block().forward(pass, x, causal_mask(sizes.T), dropout);
    return pass;
  }
  HeadsPass attention_pass(const Dropout& dropout = {}) const {
    HeadsPass pass(sizes.B, sizes.T, sizes.width, sizes.heads);
    block().attention.forward(pass, x, causal_mask(sizes.T), dropout);
    return pass;
  }

  Matrix output(const Way& way = {}) const {
    return slow::values(slow::block(Table(x), inputs(), example.shape(), 0, way));
  }
  Matrix attention_output(const Way& way = {}) const {
    return slow::values(slow::attention(Table(x), inputs(), "blocks.0.", example.shape(), way));
  }
};

/// Two sequences of four tokens, three heads, width 6.
BlockExample usual_block() {
  return BlockExample(model_sizes()[0]);
}

/// The numbers that a mistake with the divisor needs.
MatrixMatcher with_divisors(MatrixMatcher matcher, const ModelSizes& s, const ResultOf& result) {
  const auto divided_by = [&](const std::string& what, double divisor) {
    Way way;
    way.divisor = divisor;
    matcher.unless("the scores are divided by " + what + ", not by √head_dim",
                   [result, way] { return result(way); });
  };
  const auto width = static_cast<double>(s.width);
  const auto head_dim = static_cast<double>(s.width / s.heads);
  divided_by("√width", std::sqrt(width));
  divided_by("head_dim", head_dim);
  divided_by("√heads", std::sqrt(static_cast<double>(s.heads)));
  divided_by("√T", std::sqrt(static_cast<double>(s.T)));
  divided_by("1 / √head_dim: they are multiplied", 1 / std::sqrt(head_dim));
  return matcher;
}

/// The blocks that the tests go through.
BlockExample any_block() {
  return BlockExample(GENERATE(from_range(model_sizes())));
}

/// What dropout did in one block's pass.
slow::Factors factors_in(const BlockPass& pass) {
  slow::Factors all;
  for (const Pass& head : pass.attention.heads) all.heads.emplace_back(head.factors);
  all.halves_1.emplace_back(pass.factors_1);
  all.halves_2.emplace_back(pass.factors_2);
  return all;
}

/// A block that holds gradients: one number everywhere, to be added to.
Block gradients_before(const ModelSizes& s, Real before) {
  GPT2 model(Config{s.symbols, s.context, 1, s.heads, s.width});
  for (const Parameter& parameter : model.parameters()) {
    std::fill(parameter.numbers.begin(), parameter.numbers.end(), before);
  }
  return model.blocks[0];
}

/// The gradients of a block, by the names of its tensors.
slow::Matrices tensors_of(const Block& block, const ModelSizes& s) {
  GPT2 model(Config{s.symbols, s.context, 1, s.heads, s.width});
  model.blocks[0] = block;
  slow::Matrices all;
  for (const auto& [name, m] : ::tensors_of(model)) {
    if (name.rfind("blocks.0.", 0) == 0) all[name] = m;
  }
  return all;
}

/// Checks all gradients of a block or of its attention against those of a slow function.
template <class Function>
void check_gradients(const BlockExample& e, const slow::Matrices& got, const Matrix& grad_x,
                     Real before, const Function& slow_function) {
  const Gradients slow([&](const Way& way) {
    return slow::gradients(e.inputs(), [&](const Weights& in) {
      return slow::weighted_sum(slow_function(in, way), e.grad_output);
    });
  });
  check_gradients(got, slow, before);
  INFO("the gradient of the input");
  CHECK_THAT(grad_x, with_divisors(is_the_gradient(slow["x"]), e.sizes, slow["x"]));
}

/// Adds numbers to one row that differ from column to column.
void disturb_row(Matrix& m, std::size_t i) {
  for (std::size_t j = 0; j < m.shape(1); ++j) m(i, j) += Real(1) + Real(j) / 2;
}

void silence(Matrix& W, Vector& b) {
  W.fill(0);
  b.fill(0);
}

}  // namespace

TEST_CASE("each head of each sequence weighs its own tokens up to itself", "[A1]") {
  const BlockExample e = any_block();
  INFO(e.sizes);
  const HeadsPass pass = e.attention_pass();
  const std::size_t heads = e.sizes.heads;
  REQUIRE(pass.heads.size() == e.sizes.B * heads);
  for (std::size_t k = 0; k < pass.heads.size(); ++k) {
    INFO("head " << k % heads + 1 << " of sequence " << k / heads + 1);
    const auto result = [&e, k, heads](const Way& way) {
      return slow::values(slow::attention_weights(Table(e.x), e.inputs(), "blocks.0.",
                                                  e.example.shape(), k / heads, k % heads, way));
    };
    CHECK_THAT(pass.heads[k].weights, with_divisors(is_computed_by(result), e.sizes, result));
    for (std::size_t i = 0; i < e.sizes.T; ++i) {
      for (std::size_t j = i + 1; j < e.sizes.T; ++j) CHECK(pass.heads[k].weights(i, j) == 0);
    }
  }
}

TEST_CASE("attention over a batch has biases and heads and an output projection") {
  const BlockExample e = any_block();
  INFO(e.sizes);
  const auto result = [&e](const Way& way) { return e.attention_output(way); };
  CHECK_THAT(e.attention_pass().output, with_divisors(is_computed_by(result), e.sizes, result));
}

TEST_CASE("the gradients of attention reach all weights and the input") {
  const BlockExample e = any_block();
  INFO(e.sizes);
  HeadsPass pass = e.attention_pass();
  Block gradient = gradients_before(e.sizes, Real(0.5));
  Matrix grad_x = e.grad_output;  // must be written, whatever stands there
  e.block().attention.backward(grad_x, gradient.attention, e.grad_output, pass, e.x);
  slow::Matrices got = tensors_of(gradient, e.sizes);
  std::erase_if(
      got, [](const auto& entry) { return entry.first.find("attention") == std::string::npos; });
  CHECK(got.size() == 8);
  check_gradients(e, got, grad_x, Real(0.5), [&e](const Weights& in, const Way& way) {
    return slow::attention(in.at("x"), in, "blocks.0.", e.example.shape(), way);
  });
}

TEST_CASE("the bias of the keys changes no output and has no gradient") {
  BlockExample e = usual_block();
  HeadsPass pass = e.attention_pass();
  Block gradient = gradients_before(e.sizes, 0);
  Matrix grad_x = e.grad_output;
  e.block().attention.backward(grad_x, gradient.attention, e.grad_output, pass, e.x);
  const Vector& idle = gradient.attention.b_key;
  CHECK_THAT(Matrix(xt::view(idle, xt::newaxis(), xt::all())), equals(matrix(1, e.sizes.width)));
  for (std::size_t j = 0; j < e.sizes.width; ++j) e.block().attention.b_key(j) += Real(j) - 2;
  INFO("each row of scores has grown by one number, and softmax should not notice");
  CHECK_THAT(e.attention_pass().output, equals(pass.output));
}

TEST_CASE("a block is x plus attention of its norm and of that plus feed-forward of its norm",
          "[A22]") {
  const BlockExample e = any_block();
  INFO(e.sizes);
  CHECK_THAT(e.pass().output, is_computed_by([&e](const Way& way) { return e.output(way); }));
}

TEST_CASE("the gradients of a block go back through both halves and beside them") {
  const BlockExample e = any_block();
  INFO(e.sizes);
  BlockPass pass = e.pass();
  Block gradient = gradients_before(e.sizes, Real(0.5));
  Matrix grad = e.grad_output;
  e.block().backward(grad, gradient, pass);
  check_gradients(e, tensors_of(gradient, e.sizes), grad, Real(0.5),
                  [&e](const Weights& in, const Way& way) {
                    return slow::block(in.at("x"), in, e.example.shape(), 0, way);
                  });
}

TEST_CASE("dropout reaches the weights and both halves of a block and goes back the same way",
          "[A15]") {
  const BlockExample e = usual_block();
  Generator generator(201);
  const Dropout dropout{Real(0.3), &generator};
  BlockPass pass = e.pass(dropout);
  const slow::Factors factors = factors_in(pass);
  for (const Table& table : {factors.halves_1.at(0), factors.halves_2.at(0)}) {
    INFO("dropout never reaches one of the halves");
    REQUIRE(table.numbers.size() == e.x.size());
  }
  for (const Table& table : factors.heads) {
    INFO("dropout never reaches the attention weights");
    REQUIRE(table.numbers.size() == e.sizes.T * e.sizes.T);
  }
  const auto slow_block = [&](const Weights& in, const Way& way) {
    return slow::block(in.at("x"), in, e.example.shape(), 0, way, factors);
  };
  const auto without = slow::values(slow::block(Table(e.x), e.inputs(), e.example.shape(), 0));
  CHECK_THAT(pass.output, equals(slow::values(slow_block(e.inputs(), {})))
                              .unless("dropout is drawn and not applied", without));
  Block gradient = gradients_before(e.sizes, 0);
  Matrix grad = e.grad_output;
  e.block().backward(grad, gradient, pass, dropout);
  check_gradients(e, tensors_of(gradient, e.sizes), grad, 0, slow_block);
}

TEST_CASE("measured gradients agree with those of attention") {
  BlockExample e = usual_block();
  HeadsPass pass = e.attention_pass();
  Block gradient = gradients_before(e.sizes, 0);
  Matrix grad_x(e.x.shape(), 0);
  e.block().attention.backward(grad_x, gradient.attention, e.grad_output, pass, e.x);
  const auto attended = [&e] { return weighted_sum(e.attention_pass().output, e.grad_output); };
  check_measured("x", numbers(grad_x), numbers(e.x), attended);
  Attention& weights = e.block().attention;
  for (const auto W :
       {&Attention::W_query, &Attention::W_key, &Attention::W_value, &Attention::W_out}) {
    check_measured("a matrix", numbers(gradient.attention.*W), numbers(weights.*W), attended);
  }
  for (const auto b :
       {&Attention::b_query, &Attention::b_key, &Attention::b_value, &Attention::b_out}) {
    check_measured("a bias", row(gradient.attention.*b), row(weights.*b), attended);
  }
}

TEST_CASE("measured gradients agree with that of a block's input with and without dropout") {
  BlockExample e = usual_block();
  for (const double p : {0.0, 0.3}) {
    const auto dropout_from = [p](Generator& generator) {
      return Dropout{static_cast<Real>(p), &generator};
    };
    Generator generator(203);
    BlockPass pass = e.pass(dropout_from(generator));
    Block gradient = gradients_before(e.sizes, 0);
    Matrix grad = e.grad_output;
    e.block().backward(grad, gradient, pass, dropout_from(generator));
    INFO("dropout " << p);
    check_measured("x", numbers(grad), numbers(e.x), [&] {
      Generator same_each_time(203);
      return weighted_sum(e.pass(dropout_from(same_each_time)).output, e.grad_output);
    });
  }
}

TEST_CASE("scores of twenty thousand stay shares and hidden ones stay hidden") {
  Attention attention(3, 3);
  for (std::size_t j = 0; j < 3; ++j) {
    attention.W_query(j, j) = 200;
    attention.W_key(j, j) = -1;
    attention.W_value(j, j) = 1;
    attention.W_out(j, j) = 1;
  }
  const Matrix x = {{10, 10, 10}, {-10, -10, 10}};
  HeadsPass pass(1, 2, 3, 3);
  attention.forward(pass, x, causal_mask(2));
  INFO("the first token scores itself with -20000 and the second, which is hidden, with 20000");
  CHECK_THAT(pass.heads[0].weights, equals({{1, 0}, {1, 0}}));
  CHECK_THAT(pass.heads[2].weights, equals(decimals({{1, 0}, {0.5, 0.5}})));
  CHECK(pass.heads[0].weights(0, 1) == 0);
}

TEST_CASE("a block drops nothing without a generator", "[A15]") {
  const BlockExample e = usual_block();
  const BlockPass pass = e.pass(Dropout{Real(0.9), nullptr});
  INFO("dropout is active in evaluation");
  CHECK(identical(pass.output, e.pass().output));
}

TEST_CASE("a sequence alone has the output and the gradient that it has in a batch", "[A1]") {
  const BlockExample e = usual_block();
  BlockPass together = e.pass();
  Matrix grad = e.grad_output;
  Block unused = gradients_before(e.sizes, 0);
  e.block().backward(grad, unused, together);
  for (std::size_t b = 0; b < e.sizes.B; ++b) {
    INFO("sequence " << b + 1 << " of " << e.sizes.B << ": the sequences of a batch are mixed");
    BlockPass alone(1, e.sizes.T, e.sizes.width, e.sizes.heads);
    e.block().forward(alone, rows_of(e.x, b * e.sizes.T, e.sizes.T), causal_mask(e.sizes.T));
    CHECK_THAT(rows_of(together.output, b * e.sizes.T, e.sizes.T), equals(alone.output));
    Matrix grad_alone = rows_of(e.grad_output, b * e.sizes.T, e.sizes.T);
    e.block().backward(grad_alone, unused, alone);
    CHECK_THAT(rows_of(grad, b * e.sizes.T, e.sizes.T), equals(grad_alone));
  }
}

TEST_CASE("later tokens change no earlier row of a block by a single bit") {
  const BlockExample e = usual_block();
  const Matrix before = e.pass().output;
  for (std::size_t later = 1; later < e.sizes.T; ++later) {
    BlockExample other = e;
    disturb_row(other.x, later);  // of the first sequence
    const Matrix after = other.pass().output;
    INFO("token " << later + 1 << " changed");
    CHECK(identical(rows_of(before, 0, later), rows_of(after, 0, later)));
    CHECK_FALSE(same(rows_of(before, later, 1), rows_of(after, later, 1)));
    INFO("the second sequence reads the first");
    CHECK(identical(rows_of(before, e.sizes.T, e.sizes.T), rows_of(after, e.sizes.T, e.sizes.T)));
  }
}

TEST_CASE("a block whose two halves are silent is the identity", "[A22]") {
  BlockExample e = usual_block();
  silence(e.block().attention.W_out, e.block().attention.b_out);
  silence(e.block().feed_forward.W_down, e.block().feed_forward.b_down);
  const Matrix output = e.pass().output;
  CHECK(identical(output, e.x));
  BlockPass pass = e.pass();
  CHECK_THAT(output, equals(e.x)
                         .unless("the norm's output replaces the residual", pass.norm_1.output)
                         .unless("there is no residual", Matrix(e.x.shape(), 0)));
  Matrix grad = e.grad_output;
  Block gradient = gradients_before(e.sizes, 0);
  e.block().backward(grad, gradient, pass);
  INFO("the gradient of a silent block's input is that of its output");
  CHECK_THAT(grad, equals(e.grad_output));
}

TEST_CASE("with attention's output silent no token depends on another", "[A22]") {
  BlockExample e = usual_block();
  silence(e.block().attention.W_out, e.block().attention.b_out);
  const Matrix before = e.pass().output;
  for (std::size_t i = 0; i < e.x.shape(0); ++i) {
    BlockExample other = e;
    disturb_row(other.x, i);
    const Matrix after = other.pass().output;
    for (std::size_t j = 0; j < e.x.shape(0); ++j) {
      INFO("row " << j << " and a change in row " << i << ": not only attention mixes tokens");
      CHECK(identical(rows_of(before, j, 1), rows_of(after, j, 1)) == (i != j));
    }
  }
}

TEST_CASE("a pass that was used before gives the bits of a fresh one") {
  const BlockExample e = usual_block();
  BlockExample other = e;
  for (std::size_t i = 0; i < e.x.shape(0); ++i) disturb_row(other.x, i);
  Generator generator(202);
  const Dropout dropout{Real(0.5), &generator};
  BlockPass used = other.pass(dropout);
  Matrix grad = other.grad_output;
  Block unused = gradients_before(e.sizes, 0);
  other.block().backward(grad, unused, used, dropout);
  e.block().forward(used, e.x, causal_mask(e.sizes.T));
  INFO("something is left in the buffers from the pass before");
  CHECK(identical(used.output, e.pass().output));
  BlockPass fresh = e.pass();
  Block gradient_used = gradients_before(e.sizes, 0);
  Block gradient_fresh = gradients_before(e.sizes, 0);
  Matrix grad_used = e.grad_output;
  Matrix grad_fresh = e.grad_output;
  e.block().backward(grad_used, gradient_used, used);
  e.block().backward(grad_fresh, gradient_fresh, fresh);
  CHECK(identical(grad_used, grad_fresh));
  const slow::Matrices want = tensors_of(gradient_fresh, e.sizes);
  for (const auto& [name, got] : tensors_of(gradient_used, e.sizes)) {
    INFO(name);
    CHECK(identical(got, want.at(name)));
  }
}

TEST_CASE("heads that do not divide the width and masks of another size are refused") {
  CHECK_THAT(message_of([] { Block(6, 4); }),
             ContainsSubstring("6 columns cannot be divided evenly among 4 heads"));
  CHECK_THAT(message_of([] { Block(6, 0); }), ContainsSubstring("0 heads"));
  const BlockExample e = usual_block();
  BlockPass pass = e.pass();
  CHECK_THAT(message_of([&] { e.block().forward(pass, e.x, causal_mask(3)); }),
             ContainsSubstring("the mask is (3, 3)"));
}
