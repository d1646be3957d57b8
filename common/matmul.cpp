/// @file
/// @brief Matrix products: BLAS where there is one, plain loops where there is none.

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "common/blas_buffers.hpp"
#include "common/rows.hpp"

#ifdef ATTENTION_BLAS
#include "common/cblas.hpp"
#endif

namespace {

void require_product(const MatrixView& a, const MatrixView& b) {
  if (a.columns != b.rows) {
    throw std::invalid_argument(fmt::format("matmul: {} times {}: the inner sizes {} and {} differ",
                                            shape_text(a), shape_text(b), a.columns, b.rows));
  }
}

void require_result(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  if (out.rows != a.rows || out.columns != b.columns) {
    throw std::invalid_argument(fmt::format("matmul: {} times {} is ({}, {}), but the result is {}",
                                            shape_text(a), shape_text(b), a.rows, b.columns,
                                            shape_text(out)));
  }
}

/// The addresses of a matrix's numbers, from the first to the one after the last.
std::pair<std::uintptr_t, std::uintptr_t> addresses(const MatrixView& m) {
  const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(m.rows - 1) * m.row_step +
                              static_cast<std::ptrdiff_t>(m.columns - 1) * m.column_step;
  return {reinterpret_cast<std::uintptr_t>(m.data),
          reinterpret_cast<std::uintptr_t>(m.data + last + 1)};
}

/// Whether two matrices have different columns of one matrix, as attention's heads do.
bool are_side_by_side(const MatrixView& a, const MatrixView& b) {
  if (a.row_step != b.row_step || a.column_step != 1 || b.column_step != 1) return false;
  const auto [left, right] = std::minmax(
      a, b, [](const MatrixView& x, const MatrixView& y) { return std::less<>()(x.data, y.data); });
  const std::ptrdiff_t apart = (right.data - left.data) % left.row_step;
  return apart >= static_cast<std::ptrdiff_t>(left.columns) &&
         apart + static_cast<std::ptrdiff_t>(right.columns) <= left.row_step;
}

/// BLAS and the loops write entries of the result before they have read all of a and b.
void require_result_apart(const MatrixSpan& out, const MatrixView& m, const char* factor) {
  const MatrixView result = out;
  if (result.rows == 0 || result.columns == 0 || m.rows == 0 || m.columns == 0) return;
  const auto [out_begin, out_end] = addresses(result);
  const auto [m_begin, m_end] = addresses(m);
  if (out_end <= m_begin || m_end <= out_begin || are_side_by_side(result, m)) return;
  throw std::invalid_argument(fmt::format(
      "matmul: the result {} shares memory with the {} factor {}: it needs separate memory",
      shape_text(result), factor, shape_text(m)));
}

bool is_finite(const MatrixView& m) {
  for (std::size_t i = 0; i < m.rows; ++i) {
    for (std::size_t j = 0; j < m.columns; ++j) {
      if (!std::isfinite(m(i, j))) return false;
    }
  }
  return true;
}

/// Finite factors can have a product that isn't: 1e20 times 1e20 is too large for a float. A
/// softmax would turn it into NaN, and say nothing.
void require_no_overflow(const Matrix& product, const MatrixView& a, const MatrixView& b) {
  if (is_finite(product) || !is_finite(a) || !is_finite(b)) return;
  for (std::size_t i = 0; i < product.shape(0); ++i) {
    for (std::size_t j = 0; j < product.shape(1); ++j) {
      if (std::isfinite(product(i, j))) continue;
      throw std::overflow_error(fmt::format(
          "matmul: {} times {} is {} at ({}, {}): the entries are too large to be "
          "multiplied, for no number may exceed {:.2g}",
          shape_text(a), shape_text(b), product(i, j), i, j, std::numeric_limits<Real>::max()));
    }
  }
}

void fill(const MatrixSpan& out, Real number) {
  for (std::size_t i = 0; i < out.rows; ++i) {
    for (std::size_t j = 0; j < out.columns; ++j) out(i, j) = number;
  }
}

/// out += a b, one row of b at a time: the order in which all three usually are in memory.
void add_rows(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    const Row sum(&out(i, 0), out.columns);
    for (std::size_t k = 0; k < a.columns; ++k) {
      const Real factor = a(i, k);
      const ConstRow b_k(&b(k, 0), b.columns);
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += factor * b_k[j];
    }
  }
}

/// out += a b, one row of a with one column of b at a time: the order in memory when b is
/// transposed.
void add_dots(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    const ConstRow a_i(&a(i, 0), a.columns);
    for (std::size_t j = 0; j < b.columns; ++j) {
      out(i, j) += dot(a_i, ConstRow(&b(0, j), b.rows));
    }
  }
}

/// out += a b, in whatever order the numbers are.
void add_anyhow(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      for (std::size_t j = 0; j < b.columns; ++j) out(i, j) += a(i, k) * b(k, j);
    }
  }
}

/// out += a b. Contiguous numbers can be taken several at once.
void add_product_by_loops(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  if (b.column_step == 1) return add_rows(out, a, b);
  if (a.column_step == 1 && b.row_step == 1) return add_dots(out, a, b);
  add_anyhow(out, a, b);
}

#ifdef ATTENTION_BLAS

/// How BLAS is told the layout of a matrix: rows one after the other, or (transposed) columns.
struct Placement {
  bool usable;      ///< neighbours in a row or in a column are neighbours in memory
  bool transposed;  ///< neighbours in a column are
  std::ptrdiff_t leading;
};

Placement place(const MatrixView& m) {
  // xtensor gives the step 0 to a side of length 1; BLAS never steps along it, but requires a
  // number that fits.
  const bool rows_lie_together = m.column_step == 1 || m.columns == 1;
  const bool columns_lie_together = m.row_step == 1 || m.rows == 1;
  const auto width = static_cast<std::ptrdiff_t>(m.columns);
  const auto height = static_cast<std::ptrdiff_t>(m.rows);
  if (rows_lie_together && (m.row_step >= width || m.rows == 1)) {
    return {true, false, m.rows == 1 ? width : m.row_step};
  }
  if (columns_lie_together && (m.column_step >= height || m.columns == 1)) {
    return {true, true, m.columns == 1 ? height : m.column_step};
  }
  return {false, false, 0};
}

constexpr int row_major = 101;
constexpr int not_transposed = 111;
constexpr int transposed_in_memory = 112;

/// The product for the book's Real.
constexpr auto gemm = [] {
  if constexpr (std::is_same_v<Real, float>) {
    return &cblas_sgemm;
  } else {
    return &cblas_dgemm;
  }
}();

/// out = a b + keep * out.
bool multiply_by_blas(const MatrixSpan& out, const MatrixView& a, const MatrixView& b, Real keep) {
  const Placement at_a = place(a);
  const Placement at_b = place(b);
  if (!at_a.usable || !at_b.usable) return false;
  const auto turn = [](bool transposed) {
    return transposed ? transposed_in_memory : not_transposed;
  };
  // BLAS counts in int.
  const auto fits = [](auto... numbers) { return (std::in_range<int>(numbers) && ...); };
  if (!fits(a.rows, a.columns, b.columns, at_a.leading, at_b.leading, out.row_step)) return false;
  const auto whole = [](auto number) { return static_cast<int>(number); };
  const BlasTurn blas_turn;
  gemm(row_major, turn(at_a.transposed), turn(at_b.transposed), whole(a.rows), whole(b.columns),
       whole(a.columns), 1, a.data, whole(at_a.leading), b.data, whole(at_b.leading), keep,
       out.data, whole(out.row_step));
  return true;
}

#else

bool multiply_by_blas(const MatrixSpan&, const MatrixView&, const MatrixView&, Real) {
  return false;
}

#endif

/// out = a b + keep * out, with keep 0 or 1.
void multiply(const MatrixSpan& out, const MatrixView& a, const MatrixView& b, Real keep) {
  const bool nothing_to_add = out.rows == 0 || out.columns == 0 || a.columns == 0;
  if (!nothing_to_add && multiply_by_blas(out, a, b, keep)) return;
  if (keep == Real{0}) fill(out, 0);
  if (!nothing_to_add) add_product_by_loops(out, a, b);
}

}  // namespace

Matrix matmul(const MatrixView& a, const MatrixView& b) {
  require_product(a, b);
  Matrix out(Matrix::shape_type{a.rows, b.columns});
  multiply(out, a, b, 0);
  require_no_overflow(out, a, b);
  return out;
}

void matmul_into(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  require_product(a, b);
  require_result(out, a, b);
  require_result_apart(out, a, "first");
  require_result_apart(out, b, "second");
  multiply(out, a, b, 0);
}

void matmul_add(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  require_product(a, b);
  require_result(out, a, b);
  require_result_apart(out, a, "first");
  require_result_apart(out, b, "second");
  multiply(out, a, b, 1);
}
