/// @file
/// @brief The whole model, its loss and its gradients, as tests.

#include "07_examples.hpp"
#include "loss.hpp"

namespace {

using slow::Table;
using slow::Way;
using slow::Weights;

Example any_example() {
  return random_example(GENERATE(from_range(model_sizes())));
}

/// Two layers and a tied head.
Example usual_example() {
  return random_example(model_sizes()[0]);
}

Matrix slow_logits(const Example& e, const Way& way = {}) {
  return slow::values(slow::model(weights_of(e.model), e.shape(), e.tokens, way));
}

double slow_loss(const Example& e, const Way& way = {}) {
  return slow::cross_entropy(slow::model(weights_of(e.model), e.shape(), e.tokens, way), e.targets,
                             way)
      .value;
}

slow::Matrices slow_gradients(const Example& e, const Way& way = {},
                              const slow::Factors& factors = {}) {
  return slow::gradients(weights_of(e.model), [&](const Weights& w) {
    return slow::cross_entropy(slow::model(w, e.shape(), e.tokens, way, factors), e.targets, way);
  });
}

double loss_of(const Example& e, const Dropout& dropout = {}) {
  ModelPass pass = e.pass(dropout);
  return cross_entropy(pass.logits, e.targets);
}

/// Adds the gradients of the loss.
void add_gradients(GPT2& gradient, const Example& e, const Dropout& dropout = {}) {
  ModelPass pass = e.pass(dropout);
  cross_entropy(pass.logits, e.targets);
  cross_entropy_backward(pass.logits, e.targets, 1);
  e.model.backward(gradient, pass.logits, pass, e.tokens, dropout);
}

GPT2 gradients_of(const Example& e, const Dropout& dropout = {}) {
  GPT2 gradient = zeros_like(e.model);
  add_gradients(gradient, e, dropout);
  return gradient;
}

/// The first and the last sequence of a batch alone, counted as if they were all of it.
Matrix position_gradient_of_sequence(const Example& e, std::size_t b) {
  Way way;
  way.loss_summed = true;
  Example alone = e;
  alone.B = 1;
  const auto first = static_cast<std::ptrdiff_t>(b * e.T);
  const auto end = first + static_cast<std::ptrdiff_t>(e.T);
  alone.tokens.assign(e.tokens.begin() + first, e.tokens.begin() + end);
  alone.targets.assign(e.targets.begin() + first, e.targets.begin() + end);
  return times(slow_gradients(alone, way).at("position_embedding"),
               1 / static_cast<double>(e.tokens.size()));
}

void check_gradients(const GPT2& gradient, const Example& e, const slow::Factors& factors = {}) {
  const slow::Matrices got = tensors_of(gradient);
  CHECK(got.size() == weights_of(e.model).size());
  check_gradients(got, Gradients([&](const Way& way) { return slow_gradients(e, way, factors); }));
}

std::size_t numbers_in(const Config& config) {
  GPT2 model(config);
  std::size_t count = 0;
  for (const Parameter& parameter : model.parameters()) count += parameter.numbers.size();
  return count;
}

/// Mean and deviation of the numbers of a tensor.
struct Spread {
  double mean, deviation;
};

Spread spread_of(ConstRow numbers) {
  double sum = 0;
  double squares = 0;
  for (const Real x : numbers) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  const auto n = static_cast<double>(numbers.size());
  return {sum / n, std::sqrt(squares / n - sum / n * sum / n)};
}

}  // namespace

TEST_CASE("a row of the input is the vector of its symbol plus the vector of its place",
          "[A1][C8]") {
  const Example e = usual_example();
  ModelPass pass(e.model.config, e.B, e.T);
  e.model.embed(pass, e.tokens);
  const auto embedded = [&e](const Way& way) {
    slow::Shape nothing_else = e.shape();
    nothing_else.layers = 0;
    Weights weights = weights_of(e.model);
    Table identity(6, 6);
    for (std::size_t j = 0; j < 6; ++j) identity(j, j) = 1;
    weights["head"] = identity;
    Way bare = way;
    bare.no_last_norm = true;
    return slow::values(slow::model(weights, nothing_else, e.tokens, bare));
  };
  Way no_positions, next, sequence;
  no_positions.no_positions = next.position_of_next = sequence.position_of_sequence = true;
  CHECK_THAT(pass.embedded,
             equals(embedded({}))
                 .unless("there is no position embedding", embedded(no_positions))
                 .unless("each token has the position of the next", embedded(next))
                 .unless("the position is the number of the sequence, not the place in it",
                         embedded(sequence)));
}

TEST_CASE("the logits are those of a GPT-2", "[C8]") {
  const Example e = any_example();
  INFO(e.shape().layers << " layers, " << e.shape().heads << " heads");
  CHECK_THAT(e.pass().logits, is_computed_by([&e](const Way& way) { return slow_logits(e, way); }));
}

TEST_CASE("the loss of a batch is the mean over all its tokens", "[C8]") {
  const Example e = any_example();
  const auto right = slow_loss(e);
  const auto n = static_cast<double>(e.tokens.size());
  CHECK_THAT(number(loss_of(e)),
             equals(number(right)).unless("the loss is summed, not averaged", number(right * n)));
}

TEST_CASE("a model that knows nothing loses the logarithm of the number of symbols", "[C8]") {
  for (const std::size_t symbols : {2U, 7U, 65U}) {
    Example e = usual_example();
    e.model = GPT2(Config{symbols, 5, 2, 3, 6});
    e.tokens = random_tokens(e.tokens.size(), symbols, 1);
    e.targets = random_tokens(e.tokens.size(), symbols, 2);
    CHECK_THAT(number(loss_of(e)), equals(number(std::log(static_cast<double>(symbols)))));
  }
}

TEST_CASE("the gradients of a model are those of its loss", "[C8]") {
  const Example e = any_example();
  INFO(e.shape().layers << " layers, " << e.shape().heads << " heads");
  const GPT2 gradient = gradients_of(e);
  check_gradients(gradient, e);
  INFO("the gradient of the places adds up over the sequences of the batch");
  const Matrix places = slow_gradients(e).at("position_embedding");
  CHECK_THAT(gradient.position_embedding,
             equals(places)
                 .unless("the places learn from the first sequence alone",
                         position_gradient_of_sequence(e, 0))
                 .unless("the places learn from the last sequence alone",
                         position_gradient_of_sequence(e, e.B - 1)));
}

TEST_CASE("the gradients of a model go through what dropout left", "[A15]") {
  const Example e = usual_example();
  Generator generator(301);
  const Dropout dropout{Real(0.3), &generator};
  ModelPass pass = e.pass(dropout);
  const slow::Factors factors = factors_of(pass);
  {
    INFO("dropout does not reach the embedded tokens");
    REQUIRE(factors.embedded.numbers.size() == pass.embedded.size());
  }
  const Table logits = slow::model(weights_of(e.model), e.shape(), e.tokens, {}, factors);
  CHECK_THAT(pass.logits, equals(slow::values(logits)));
  cross_entropy(pass.logits, e.targets);
  cross_entropy_backward(pass.logits, e.targets, 1);
  GPT2 gradient = zeros_like(e.model);
  e.model.backward(gradient, pass.logits, pass, e.tokens, dropout);
  check_gradients(gradient, e, factors);
}

TEST_CASE("a model drops nothing without a generator and something with one", "[A15]") {
  const Example e = usual_example();
  Generator generator(302);
  const Matrix evaluated = e.pass().logits;
  INFO("dropout is active in evaluation");
  CHECK(identical(e.pass(Dropout{Real(0.5), nullptr}).logits, evaluated));
  CHECK(identical(e.pass(Dropout{0, &generator}).logits, evaluated));
  CHECK_FALSE(same(e.pass(Dropout{Real(0.5), &generator}).logits, evaluated));
}

TEST_CASE("measured gradients agree with those of a model for every kind of tensor") {
  Example e = any_example();
  const bool drops = GENERATE(false, true);
  const auto dropout_from = [drops](Generator& generator) {
    return Dropout{Real(drops ? 0.25 : 0), &generator};
  };
  const auto loss = [&] {
    Generator same_each_time(303);
    return loss_of(e, dropout_from(same_each_time));
  };
  Generator same_each_time(303);
  GPT2 gradient = gradients_of(e, dropout_from(same_each_time));
  const std::vector<Parameter> tensors = e.model.parameters();
  const std::vector<Parameter> gradients = gradient.parameters();
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    INFO((drops ? "with dropout" : "without dropout"));
    const std::size_t size = tensors[k].numbers.size();
    const std::size_t count = std::min<std::size_t>(size, 3);
    const std::size_t first = (size - count) * (k % 5) / 4;  // here and there
    check_measured(tensors[k].name, gradients[k].numbers.subspan(first, count),
                   tensors[k].numbers.subspan(first, count), loss);
  }
}

TEST_CASE("the gradients of a second batch are added to those of the first") {
  const Example e = usual_example();
  GPT2 twice = gradients_of(e);
  add_gradients(twice, e);
  const slow::Matrices once = tensors_of(gradients_of(e));
  for (const auto& [name, sum] : tensors_of(twice)) {
    INFO("the gradient of " << name);
    CHECK_THAT(sum, equals(times(once.at(name), 2))
                        .unless("the gradient overwrites what was there; it must be added to it",
                                once.at(name)));
  }
}

TEST_CASE("a model's pass that was used before gives the bits of a fresh one") {
  const Example e = usual_example();
  const auto back = [&e](ModelPass& pass) {
    e.model.forward(pass, e.tokens);
    cross_entropy(pass.logits, e.targets);
    cross_entropy_backward(pass.logits, e.targets, 1);
    GPT2 gradient = zeros_like(e.model);
    e.model.backward(gradient, pass.logits, pass, e.tokens);
    return tensors_of(gradient);
  };
  ModelPass fresh(e.model.config, e.B, e.T);
  const slow::Matrices once = back(fresh);
  ModelPass used(e.model.config, e.B, e.T);
  Generator generator(307);
  const Dropout dropout{Real(0.5), &generator};
  e.model.forward(used, random_tokens(e.tokens.size(), 7, 308), dropout);
  used.grad.fill(1);
  for (const auto& [name, gradient] : back(used)) {
    INFO("the gradient of " << name << ": something is left in the buffers from the pass before");
    CHECK(identical(gradient, once.at(name)));
  }
}

TEST_CASE("a tied embedding learns as input and as head and a separate head as head alone") {
  const Example tied = usual_example();
  Example separate = tied;
  separate.model.head = tied.model.token_embedding;
  CHECK(identical(tied.pass().logits, separate.pass().logits));
  const slow::Matrices of_tied = tensors_of(gradients_of(tied));
  const slow::Matrices of_separate = tensors_of(gradients_of(separate));
  const Matrix& as_input = of_separate.at("token_embedding");
  const Matrix& as_head = of_separate.at("head");
  CHECK_THAT(of_tied.at("token_embedding"),
             equals(reference::sum(as_input, as_head))
                 .unless("the token embedding learns nothing as the head", as_input)
                 .unless("the token embedding learns only as the head", as_head));
  CHECK_FALSE(same(as_head, Matrix(as_head.shape(), 0)));
  for (Real& weight : separate.model.head) weight += 1;
  CHECK_FALSE(same(separate.pass().logits, tied.pass().logits));
}

TEST_CASE("a sequence alone has the logits that it has in a batch", "[A1]") {
  const Example e = usual_example();
  const Matrix together = e.pass().logits;
  for (std::size_t b = 0; b < e.B; ++b) {
    ModelPass alone(e.model.config, 1, e.T);
    e.model.forward(alone, Tokens(e.tokens).subspan(b * e.T, e.T));
    INFO("sequence " << b + 1 << " of " << e.B << ": the sequences of a batch are mixed");
    CHECK_THAT(rows_of(together, b * e.T, e.T), equals(alone.logits));
  }
}

TEST_CASE("any number of tokens up to the context runs and a longer text begins with a shorter",
          "[A1]") {
  const Example e = usual_example();
  const std::vector<int> text = random_tokens(5, 7, 304);
  ModelPass whole(e.model.config, 1, 5);
  e.model.forward(whole, text);
  for (std::size_t T = 1; T <= 5; ++T) {
    ModelPass pass(e.model.config, 1, T);
    e.model.forward(pass, Tokens(text).first(T));
    INFO("the first " << T << " of 5 tokens");
    CHECK_THAT(pass.logits, equals(rows_of(whole.logits, 0, T)));
  }
}

TEST_CASE("later tokens change no earlier logit by a single bit") {
  const Example e = usual_example();
  const Matrix before = e.pass().logits;
  for (std::size_t later = 1; later < e.T; ++later) {
    Example other = e;
    other.tokens[later] = (other.tokens[later] + 1) % 7;
    const Matrix after = other.pass().logits;
    INFO("token " << later + 1 << " changed");
    CHECK(identical(rows_of(before, 0, later), rows_of(after, 0, later)));
    CHECK_FALSE(same(rows_of(before, later, 1), rows_of(after, later, 1)));
  }
}

TEST_CASE("with the output of every attention silent no token depends on another", "[A22]") {
  Example e = usual_example();
  for (Block& block : e.model.blocks) {
    block.attention.W_out.fill(0);
    block.attention.b_out.fill(0);
  }
  const Matrix before = e.pass().logits;
  for (std::size_t i = 0; i < e.tokens.size(); ++i) {
    Example other = e;
    other.tokens[i] = (other.tokens[i] + 1) % 7;
    const Matrix after = other.pass().logits;
    for (std::size_t j = 0; j < e.tokens.size(); ++j) {
      INFO("row " << j << " and a change in token " << i << ": not only attention mixes tokens");
      CHECK(identical(rows_of(before, j, 1), rows_of(after, j, 1)) == (i != j));
    }
  }
}

TEST_CASE("a layer as wide as its input stacks to any height", "[A22]") {
  for (const std::size_t layers : {0U, 1U, 2U, 5U}) {
    const Example e = random_example({5, 4, layers, 3, 6, 2, 3, false, 305 + layers});
    INFO(layers << " layers");
    CHECK_THAT(e.pass().logits,
               is_computed_by([&e](const Way& way) { return slow_logits(e, way); }));
  }
}

TEST_CASE("the order of the words counts because each place has a vector", "[A1]") {
  Example e = random_example({7, 5, 1, 3, 6, 1, 4, false, 306});
  e.tokens = {1, 2, 4, 3};
  Example swapped = e;
  swapped.tokens = {2, 1, 4, 3};
  CHECK_FALSE(same(rows_of(e.pass().logits, 3, 1), rows_of(swapped.pass().logits, 3, 1)));
  for (Example* example : {&e, &swapped}) example->model.position_embedding.fill(0);
  INFO("without places one layer reads the same set of words before a token");
  CHECK_THAT(rows_of(e.pass().logits, 3, 1), equals(rows_of(swapped.pass().logits, 3, 1)));
}

TEST_CASE("twelve layers of width 768 over 1024 places have 124439808 parameters", "[A23][C8]") {
  const Config gpt2{50257, 1024, 12, 12, 768};
  CHECK(parameter_count(gpt2) == 124439808);
  for (const Config& config :
       {Config{7, 5, 2, 3, 6}, Config{11, 3, 1, 4, 8}, Config{3, 9, 4, 1, 5}}) {
    INFO("width " << config.width);
    CHECK(numbers_in(config) == parameter_count(config));
  }
}

TEST_CASE("GPT-2 begins with matrices from N(0 0.02) and a calmer residual stream") {
  Generator generator(42);
  const Config config{40, 30, 8, 2, 24};
  GPT2 model(config, generator);
  for (const Parameter& parameter : model.parameters()) {
    INFO(parameter.name);
    const Spread spread = spread_of(parameter.numbers);
    const bool gain = parameter.name.find("gain") != std::string::npos;
    const bool residual = parameter.name.find("W_out") != std::string::npos ||
                          parameter.name.find("W_down") != std::string::npos;
    if (!parameter.is_matrix()) {
      CHECK(spread.mean == (gain ? 1 : 0));
      CHECK(spread.deviation == 0);
      continue;
    }
    const double wanted = residual ? 0.02 / 4 : 0.02;  // √(2 · 8 layers) is 4
    INFO("the deviation is " << spread.deviation << ", it should be about " << wanted);
    CHECK(spread.deviation > 0.88 * wanted);
    CHECK(spread.deviation < 1.12 * wanted);
    CHECK(std::abs(spread.mean) < 0.25 * wanted);
  }
  CHECK_FALSE(identical(model.blocks[0].attention.W_query, model.blocks[0].attention.W_key));
  CHECK_FALSE(identical(model.blocks[0].attention.W_query, model.blocks[1].attention.W_query));
  CHECK(model.head.size() == 0);
  Generator same_seed(42);
  CHECK(identical(GPT2(config, same_seed).blocks[7].feed_forward.W_down,
                  model.blocks[7].feed_forward.W_down));
}

TEST_CASE("room for gradients has the model's shapes and zeros alone") {
  GPT2 zeros = zeros_like(usual_example().model);
  for (const Parameter& parameter : zeros.parameters()) {
    INFO(parameter.name);
    for (const Real x : parameter.numbers) CHECK(x == 0);
  }
}

TEST_CASE("symbols that do not exist and sequences that do not fit are refused with the numbers") {
  const Example e = usual_example();
  ModelPass pass(e.model.config, e.B, e.T);
  const auto forward = [&](const std::vector<int>& tokens) { e.model.forward(pass, tokens); };
  CHECK_THAT(message_of([&] {
               forward({0, 1, 2, 3, 4, 5, 6, 7});
             }),
             ContainsSubstring("no symbol 7; there are 7"));
  CHECK_THAT(message_of([&] {
               forward({0, 1, 2, 3, 4, 5, 6, -1});
             }),
             ContainsSubstring("no symbol -1"));
  CHECK_THAT(message_of([&] {
               forward({0, 1, 2});
             }),
             ContainsSubstring("3 tokens for a pass of 8"));
  ModelPass longer(e.model.config, 1, 6);
  CHECK_THAT(message_of([&] { e.model.forward(longer, random_tokens(6, 7, 1)); }),
             ContainsSubstring("sequences of 6 tokens, but the context is 5"));
}
