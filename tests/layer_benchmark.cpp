/// @file
/// @brief How long attention of GPT-2's size takes, and how long its matrix products take alone.
///
/// Prints both in seconds, the medians of several runs that take turns, so that a machine that
/// slows down slows down both.

#include "attention.hpp"
#include "timing.hpp"

#include <cstdio>

namespace {

constexpr std::size_t T = 1024;
constexpr std::size_t width = 768;
constexpr std::size_t n_heads = 12;
constexpr std::size_t head_dim = width / n_heads;
constexpr int runs = 9;

/// The products of one pass, with their shapes, into matrices that exist already.
struct Products {
  Matrix input;
  Matrix weights;
  Matrix projected = matrix(T, width);
  Matrix head;
  Matrix scores = matrix(T, T);
  Matrix context = matrix(T, head_dim);

  explicit Products(Generator& generator)
      : input(normal_matrix(T, width, generator)),
        weights(normal_matrix(width, width, generator)),
        head(normal_matrix(T, head_dim, generator)) {}

  void run() {
    for (int projection = 0; projection < 4; ++projection) matmul_into(projected, input, weights);
    for (std::size_t h = 0; h < n_heads; ++h) {
      matmul_into(scores, head, xt::transpose(head));
      matmul_into(context, scores, head);
    }
  }
};

}  // namespace

int main() {
  Generator generator(1);
  const Attention attention(width, width, n_heads, generator);
  const Matrix mask = causal_mask(T);
  Products products(generator);
  std::vector<double> layer_seconds;
  std::vector<double> product_seconds;
  for (int run = 0; run < runs; ++run) {
    layer_seconds.push_back(
        seconds_of([&] { attention.forward(products.input, products.input, mask); }));
    product_seconds.push_back(seconds_of([&] { products.run(); }));
  }
  std::printf("%.4f %.4f\n", median(layer_seconds), median(product_seconds));
  return 0;
}
