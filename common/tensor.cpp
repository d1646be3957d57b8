#include "common/tensor.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace {

void require_inside(const Matrix& m, std::size_t top, std::size_t height, std::size_t left,
                    std::size_t width) {
  if (top > m.shape(0) || height > m.shape(0) - top || left > m.shape(1) ||
      width > m.shape(1) - left) {
    throw std::out_of_range(
        fmt::format("part: {} rows from {} and {} columns from {} of a matrix of {}", height, top,
                    width, left, shape_text(m)));
  }
}

}  // namespace

Matrix matrix(std::size_t rows, std::size_t columns, Real fill) {
  return Matrix(Matrix::shape_type{rows, columns}, fill);
}

MatrixView part(const Matrix& m, std::size_t top, std::size_t height, std::size_t left,
                std::size_t width) {
  require_inside(m, top, height, left, width);
  const std::size_t step = m.shape(1);
  return {m.data() + top * step + left, height, width, static_cast<std::ptrdiff_t>(step), 1};
}

MatrixSpan part(Matrix& m, std::size_t top, std::size_t height, std::size_t left,
                std::size_t width) {
  require_inside(m, top, height, left, width);
  const std::size_t step = m.shape(1);
  return {m.data() + top * step + left, height, width, step};
}

MatrixView transposed(const MatrixView& m) {
  return {m.data, m.columns, m.rows, m.column_step, m.row_step};
}

Real max_of(const Vector& numbers) {
  const auto larger = [](Real a, Real b) { return a > b ? a : b; };
  return std::reduce(numbers.begin(), numbers.end(), -std::numeric_limits<Real>::infinity(),
                     larger);
}

Real sum_of(const Vector& numbers) {
  return std::reduce(numbers.begin(), numbers.end(), Real{0});
}

Matrix column(const std::vector<Real>& numbers) {
  Matrix result(Matrix::shape_type{numbers.size(), 1});
  std::copy(numbers.begin(), numbers.end(), result.begin());
  return result;
}

std::string shape_text(const MatrixView& m) {
  return fmt::format("({}, {})", m.rows, m.columns);
}

void require_finite(const Matrix& m, const std::string& name) {
  for (std::size_t i = 0; i < m.shape(0); ++i) {
    for (std::size_t j = 0; j < m.shape(1); ++j) {
      if (!std::isfinite(m(i, j))) {
        throw std::invalid_argument(fmt::format(
            "{}({}, {}) is {}: every number of {} must be finite", name, i, j, m(i, j), name));
      }
    }
  }
}

void require_between(Real number, const std::string& name, Real least, Real most) {
  if (!(number >= least && number <= most)) {
    throw std::invalid_argument(
        fmt::format("{} is {}: it must be between {} and {}", name, number, least, most));
  }
}

void require_divisible(std::size_t number, const std::string& things, std::size_t among,
                       const std::string& others) {
  if (among == 0 || number % among != 0) {
    throw std::invalid_argument(
        fmt::format("{} {} cannot be divided evenly among {} {}", number, things, among, others));
  }
}

void require_same_shape(const Matrix& a, const std::string& name_of_a, const Matrix& b,
                        const std::string& name_of_b) {
  if (a.shape() != b.shape()) {
    throw std::invalid_argument(fmt::format("{} is {} but {} is {}: the shapes must be equal",
                                            name_of_a, shape_text(a), name_of_b, shape_text(b)));
  }
}

Real max_abs_difference(const Matrix& a, const Matrix& b) {
  require_same_shape(a, "the first matrix", b, "the second");
  Real largest = 0;
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    for (std::size_t j = 0; j < a.shape(1); ++j) {
      const Real difference = std::abs(a(i, j) - b(i, j));
      if (std::isnan(difference)) return difference;
      largest = std::max(largest, difference);
    }
  }
  return largest;
}

double max_abs(const Matrix& m) {
  double largest = 0;
  for (const Real entry : m) {
    if (std::isfinite(entry)) largest = std::max(largest, std::abs(static_cast<double>(entry)));
  }
  return largest;
}

bool nearly_equal(const Matrix& a, const Matrix& b, double tolerance) {
  const double scale = std::max(1.0, max_abs(a));
  return static_cast<double>(max_abs_difference(a, b)) <= tolerance * scale;
}
