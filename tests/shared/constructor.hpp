#pragma once
/// @file
/// @brief What the constructor of every chapter's `Attention` must draw. A chapter's tests define
/// `shared::make_attention(d_in, d_out, generator)` and include this.

#include <cmath>

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
    const Matrix first = linear_weights(shape.d_in, shape.d_out, fresh);
    Generator again(7);
    const auto is_drawn_next = [&](const char* name) {
      const Matrix right = linear_weights(shape.d_in, shape.d_out, again);
      const double ratio =
          std::sqrt(static_cast<double>(shape.d_in) / static_cast<double>(shape.d_out));
      return equals(right)
          .unless(std::string(name) + " is spread over ±1/√d_out, not ±1/√d_in",
                  right * static_cast<Real>(ratio))
          .unless(
              std::string(name) +
                  " has the numbers of W_query: each draw gets a copy of the generator, or none",
              first)
          .unless(std::string(name) + " is zero: it isn't drawn at all",
                  matrix(shape.d_in, shape.d_out));
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
