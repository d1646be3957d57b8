#pragma once
/// @file
/// @brief What the constructor of every chapter's `Attention` must draw. A chapter's tests define
/// `shared::make_attention(d_in, d_out, generator)` and include this.

#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "reference.hpp"
#include "support.hpp"

TEST_CASE("the projections are drawn one after the other as PyTorch draws linear layers", "[B5]") {
  struct Shape {
    std::size_t d_in;
    std::size_t d_out;
  };
  for (const Shape shape : {Shape{7, 12}, Shape{12, 6}, Shape{1, 6}}) {
    INFO("d_in is " << shape.d_in << ", d_out is " << shape.d_out);
    Generator generator(7);
    const Attention attention = shared::make_attention(shape.d_in, shape.d_out, generator);
    Generator fresh(7);
    const std::vector<Matrix> draws = {linear_weights(shape.d_in, shape.d_out, fresh),
                                       linear_weights(shape.d_in, shape.d_out, fresh),
                                       linear_weights(shape.d_in, shape.d_out, fresh)};
    std::size_t drawn = 0;
    const auto is_drawn_next = [&](const char* name) {
      const std::size_t place = drawn++;
      const double ratio =
          std::sqrt(static_cast<double>(shape.d_in) / static_cast<double>(shape.d_out));
      Generator turned(7);
      for (std::size_t k = 0; k < place; ++k) linear_weights(shape.d_in, shape.d_out, turned);
      MatrixMatcher matcher = equals(draws[place]);
      if (place > 0 && same(attention.W_query, draws[0])) {
        matcher.unless(
            std::string(name) +
                " has the numbers of W_query: each draw gets a copy of the generator, or none",
            draws[0]);
      }
      for (std::size_t k = 0; k < draws.size(); ++k) {
        if (k == place) continue;
        matcher.unless(
            fmt::format("{} is drawn as number {}, not as number {}: the order is W_query, "
                        "W_key, W_value",
                        name, k + 1, place + 1),
            draws[k]);
      }
      const double bound = 1 / std::sqrt(static_cast<double>(shape.d_in));
      return matcher
          .unless(std::string(name) + " is drawn with its two sizes exchanged, and transposed",
                  reference::transposed(linear_weights(shape.d_out, shape.d_in, turned)))
          .unless(std::string(name) + " is spread over ±1/√d_out, not ±1/√d_in",
                  draws[place] * static_cast<Real>(ratio))
          .unless(std::string(name) + " is zero: it isn't drawn at all",
                  matrix(shape.d_in, shape.d_out))
          .diagnosed_by([=](const Matrix& W) -> std::string {
            const double largest = max_abs(W);
            if (largest <= bound * 1.001) {
              return fmt::format(
                  "{} isn't drawn as number {} of this generator: something is drawn before it, or "
                  "with a different generator",
                  name, place + 1);
            }
            return fmt::format(
                "{} has an entry of size {:.3f}, and no draw between ±1/√d_in is above {:.3f}: "
                "it has a different range or distribution",
                name, largest, bound);
          });
    };
    {
      INFO("W_query");
      CHECK_THAT(attention.W_query, is_drawn_next("W_query"));
    }
    {
      INFO("W_key");
      CHECK_THAT(attention.W_key, is_drawn_next("W_key"));
    }
    {
      INFO("W_value");
      CHECK_THAT(attention.W_value, is_drawn_next("W_value"));
    }
  }
}
