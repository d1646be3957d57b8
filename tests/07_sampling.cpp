/// @file
/// @brief How a model writes, as tests.

#include "07_examples.hpp"
#include "sampling.hpp"

namespace {

using slow::Table;

Matrix shares_of(const Matrix& logits, const Sampling& sampling) {
  return as_row(row(next_shares(row(logits, 0), sampling)));
}

Matrix slow_shares(const Matrix& logits, double temperature) {
  return slow::values(slow::softmax(Table(reference::divided(logits, temperature))));
}

/// What a model writes.
std::vector<int> written(const GPT2& model, const std::vector<int>& prompt, std::size_t length,
                         const Sampling& sampling, std::uint64_t seed) {
  Generator generator(seed);
  std::vector<int> text;
  continue_text(model, prompt, length, sampling, generator, [&text](int symbol) {
    text.push_back(symbol);
    return true;
  });
  return text;
}

/// Seven symbols, a context of five.
GPT2 usual_model() {
  return random_example(model_sizes()[0]).model;
}

/// The symbol that fits best after a text, by the slow model.
int likeliest_after(const GPT2& model, const std::vector<int>& text, std::size_t context) {
  const std::size_t T = std::min(text.size(), context);
  const std::vector<int> read(text.end() - static_cast<std::ptrdiff_t>(T), text.end());
  const slow::Shape shape{T, model.config.heads, model.config.layers};
  const Matrix logits = slow::values(slow::model(weights_of(model), shape, read));
  const ConstRow last = row(logits, T - 1);
  return static_cast<int>(std::max_element(last.begin(), last.end()) - last.begin());
}

std::vector<int> slow_continuation(const GPT2& model, std::vector<int> text, std::size_t length) {
  std::vector<int> more;
  for (std::size_t k = 0; k < length; ++k) {
    more.push_back(likeliest_after(model, text, model.config.context));
    text.push_back(more.back());
  }
  return more;
}

const Matrix five_logits = {{1, 3, -2, 2.5, 0}};

}  // namespace

TEST_CASE("a temperature divides the logits before softmax") {
  for (const double temperature : {0.5, 0.8, 1.0, 3.0}) {
    INFO("temperature " << temperature);
    CHECK_THAT(shares_of(five_logits, {temperature, 0}),
               equals(slow_shares(five_logits, temperature))
                   .unless("the temperature multiplies", slow_shares(five_logits, 1 / temperature))
                   .unless("the temperature is forgotten", slow_shares(five_logits, 1)));
  }
}

TEST_CASE("a temperature of 0 takes the likeliest symbol") {
  CHECK_THAT(shares_of(five_logits, {0, 0}), equals({{0, 1, 0, 0, 0}}));
  CHECK_THAT(shares_of(five_logits, {0, 3}), equals({{0, 1, 0, 0, 0}}));
  INFO("of equals the first");
  CHECK_THAT(shares_of({{1, 4, 4, 0}}, {0, 0}), equals({{0, 1, 0, 0}}));
}

TEST_CASE("only the likeliest symbols are drawn if so many are asked for") {
  for (std::size_t top_k = 1; top_k <= 5; ++top_k) {
    Matrix left = five_logits;
    const std::vector<std::size_t> order = {1, 3, 0, 4, 2};
    for (std::size_t k = top_k; k < 5; ++k) {
      left(0, order[k]) = -std::numeric_limits<Real>::infinity();
    }
    const Matrix all = slow_shares(five_logits, 0.8);
    Matrix cut = all;
    for (std::size_t k = top_k; k < 5; ++k) cut(0, order[k]) = 0;
    INFO("the likeliest " << top_k);
    CHECK_THAT(shares_of(five_logits, {0.8, top_k}),
               equals(slow_shares(left, 0.8))
                   .unless("all symbols can be drawn", all)
                   .unless("the shares that are left are not shared out again", cut));
  }
  CHECK_THAT(shares_of(five_logits, {0.8, 99}), equals(slow_shares(five_logits, 0.8)));
  CHECK_THAT(shares_of({{2, 2, 2, 2}}, {1, 2}), equals({{0.5, 0.5, 0, 0}}));
}

TEST_CASE("tiny and huge temperatures give shares as well") {
  CHECK_THAT(shares_of(five_logits, {1e-30, 0}), equals({{0, 1, 0, 0, 0}}));
  CHECK_THAT(shares_of(five_logits, {1e-300, 0}), equals({{0, 1, 0, 0, 0}}));
  CHECK_THAT(shares_of(five_logits, {1e30, 0}), equals(decimals({{0.2, 0.2, 0.2, 0.2, 0.2}})));
  const Matrix large = {{1000, -1000, 999}};
  CHECK_THAT(shares_of(large, {1, 0}), equals(slow_shares(large, 1)));
  CHECK_THAT(shares_of(large, {1e-3, 0}), equals({{1, 0, 0}}));
  CHECK_THAT(message_of([] {
               shares_of(five_logits, {-0.1, 0});
             }),
             ContainsSubstring("the temperature is -0.1"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(message_of([nan] {
               shares_of(five_logits, {nan, 0});
             }),
             ContainsSubstring("the temperature is nan"));
}

TEST_CASE("symbols are drawn as often as their shares say and never without one") {
  const Matrix shares = decimals({{0.1, 0, 0.6, 0.3, 0}});
  std::vector<int> drawn(5, 0);
  Generator generator(501);
  for (int k = 0; k < 2000; ++k)
    ++drawn[static_cast<std::size_t>(draw_symbol(row(shares, 0), generator))];
  CHECK(drawn[1] == 0);
  CHECK(drawn[4] == 0);
  CHECK(std::abs(drawn[0] - 200) < 50);
  CHECK(std::abs(drawn[2] - 1200) < 90);
  CHECK(std::abs(drawn[3] - 600) < 90);
}

TEST_CASE("what rounding leaves of the shares goes to a symbol that can be drawn") {
  const Matrix shares = {{0, 0.25, 0.125, 0}};  // far too little in sum
  Generator generator(502);
  for (int k = 0; k < 50; ++k) {
    const int symbol = draw_symbol(row(shares, 0), generator);
    CHECK((symbol == 1 || symbol == 2));
  }
}

TEST_CASE("the same seed writes the same text and another seed another") {
  const GPT2 model = usual_model();
  const Sampling bold{1.5, 0};
  CHECK(written(model, {1}, 12, bold, 1) == written(model, {1}, 12, bold, 1));
  CHECK(written(model, {1}, 12, bold, 1) != written(model, {1}, 12, bold, 2));
  CHECK(written(model, {1}, 12, {0, 0}, 1) == written(model, {1}, 12, {0, 0}, 2));
}

TEST_CASE("every symbol is drawn anew") {
  const GPT2 knows_nothing(Config{7, 5, 1, 3, 6});
  const std::vector<int> text = written(knows_nothing, {0}, 60, {1, 0}, 3);
  for (int symbol = 0; symbol < 7; ++symbol) {
    INFO("symbol " << symbol << " of 7 that are equally likely, in 60 draws");
    CHECK(std::count(text.begin(), text.end(), symbol) > 0);
    CHECK(std::count(text.begin(), text.end(), symbol) < 25);
  }
}

TEST_CASE("the likeliest text is what the model says after the last tokens it can read") {
  for (const std::uint64_t seed : {71U, 510U, 511U}) {
    const GPT2 model = random_example({7, 5, 2, 3, 6, 1, 1, false, seed}).model;
    for (const std::size_t length : {1U, 4U, 5U, 9U}) {
      const std::vector<int> prompt = random_tokens(length, 7, seed + length);
      INFO("a prompt of " << length << ", a context of 5");
      CHECK(written(model, prompt, 6, {0, 0}, 1) == slow_continuation(model, prompt, 6));
    }
  }
}

TEST_CASE("writing ends when it is told to and needs something to go on from") {
  const GPT2 model = usual_model();
  Generator generator(512);
  std::vector<int> text;
  const auto stop_after_three = [&text](int symbol) {
    text.push_back(symbol);
    return text.size() < 3;
  };
  continue_text(model, {1, 2}, 100, {1, 0}, generator, stop_after_three);
  CHECK(text.size() == 3);
  CHECK(written(model, {1}, 0, {}, 1).empty());
  CHECK_THAT(message_of([&] { written(model, {}, 1, {}, 1); }),
             ContainsSubstring("no symbol to go on from"));
  CHECK_THAT(message_of([&] { written(model, {7}, 1, {}, 1); }), ContainsSubstring("no symbol 7"));
}
