#include "reference.hpp"

#include <cmath>
#include <limits>

namespace reference {

Matrix make(std::size_t rows, std::size_t columns) {
  return matrix(rows, columns);
}

Matrix transposed(const Matrix& a) {
  Matrix t = make(a.shape(1), a.shape(0));
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    for (std::size_t j = 0; j < a.shape(1); ++j) t(j, i) = a(i, j);
  }
  return t;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c = make(a.shape(0), b.shape(1));
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    for (std::size_t j = 0; j < b.shape(1); ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < a.shape(1); ++k) {
        sum += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
      }
      c(i, j) = static_cast<Real>(sum);
    }
  }
  return c;
}

Matrix sum(const Matrix& a, const Matrix& b) {
  Matrix c = a;
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    for (std::size_t j = 0; j < a.shape(1); ++j) c(i, j) += b(i, j);
  }
  return c;
}

Matrix dot_products(const Matrix& a, const Matrix& b) {
  return product(a, transposed(b));
}

Matrix divided(const Matrix& a, double divisor) {
  Matrix result = a;
  for (Real& entry : result) entry = static_cast<Real>(static_cast<double>(entry) / divisor);
  return result;
}

Matrix softmax(const Matrix& scores) {
  Matrix weights = make(scores.shape(0), scores.shape(1));
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      largest = std::fmax(largest, static_cast<double>(scores(i, j)));
    }
    double total = 0;
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      total += std::exp(static_cast<double>(scores(i, j)) - largest);
    }
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      weights(i, j) =
          static_cast<Real>(std::exp(static_cast<double>(scores(i, j)) - largest) / total);
    }
  }
  return weights;
}

namespace wrong {

Matrix softmax_down_the_columns(const Matrix& scores) {
  return transposed(reference::softmax(transposed(scores)));
}

Matrix softmax_without_total(const Matrix& scores) {
  Matrix exponentials = scores;
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      largest = std::fmax(largest, static_cast<double>(scores(i, j)));
    }
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      exponentials(i, j) = static_cast<Real>(std::exp(static_cast<double>(scores(i, j)) - largest));
    }
  }
  return exponentials;
}

Matrix exponentials_alone(const Matrix& scores) {
  Matrix exponentials = scores;
  for (Real& entry : exponentials) entry = std::exp(entry);
  return exponentials;
}

Matrix scores_over_their_sum(const Matrix& scores) {
  Matrix weights = scores;
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    double total = 0;
    for (std::size_t j = 0; j < scores.shape(1); ++j) total += static_cast<double>(scores(i, j));
    for (std::size_t j = 0; j < scores.shape(1); ++j) {
      weights(i, j) = static_cast<Real>(static_cast<double>(scores(i, j)) / total);
    }
  }
  return weights;
}

Matrix softmax_of_everything(const Matrix& scores) {
  double total = 0;
  for (const Real entry : scores) total += std::exp(static_cast<double>(entry));
  Matrix weights = scores;
  for (Real& entry : weights) {
    entry = static_cast<Real>(std::exp(static_cast<double>(entry)) / total);
  }
  return weights;
}

Matrix softmax_of_base_two(const Matrix& scores) {
  return reference::softmax(divided(scores, 1 / std::log(2.0)));
}

Matrix cosines(const Matrix& X) {
  const Matrix dots = dot_products(X, X);
  Matrix result = dots;
  for (std::size_t i = 0; i < X.shape(0); ++i) {
    for (std::size_t j = 0; j < X.shape(0); ++j) result(i, j) /= std::sqrt(dots(i, i) * dots(j, j));
  }
  return result;
}

Matrix softmax_without_diagonal(const Matrix& scores) {
  Matrix masked = scores;
  for (std::size_t i = 0; i < std::min(scores.shape(0), scores.shape(1)); ++i) {
    masked(i, i) = -std::numeric_limits<Real>::infinity();
  }
  return reference::softmax(masked);
}

Matrix softmax_then_no_diagonal(const Matrix& scores) {
  Matrix weights = reference::softmax(scores);
  for (std::size_t i = 0; i < std::min(scores.shape(0), scores.shape(1)); ++i) weights(i, i) = 0;
  return weights;
}

}  // namespace wrong
}  // namespace reference
