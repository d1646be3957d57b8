/// @file
/// @brief Matrix products: BLAS where there is one, plain loops where there is none.

#include <fmt/core.h>

#include <stdexcept>

#include "common/rows.hpp"

#ifdef ATTENTION_BLAS
#include <xtensor-blas/xblas.hpp>
#endif

// A name that is there when the BLAS is OpenBLAS, and null when it is another.
extern "C" [[gnu::weak]] void openblas_set_num_threads(int);

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

void fill(const MatrixSpan& out, Real number) {
  for (std::size_t i = 0; i < out.rows; ++i) {
    for (std::size_t j = 0; j < out.columns; ++j) out(i, j) = number;
  }
}

/// out += a b, one row of b at a time: the order in which all three usually lie in memory.
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

/// out += a b, one row of a with one column of b at a time: so they lie when b is transposed.
void add_dots(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    const ConstRow a_i(&a(i, 0), a.columns);
    for (std::size_t j = 0; j < b.columns; ++j) {
      out(i, j) += dot(a_i, ConstRow(&b(0, j), b.rows));
    }
  }
}

/// out += a b, wherever the numbers lie.
void add_anyhow(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      for (std::size_t j = 0; j < b.columns; ++j) out(i, j) += a(i, k) * b(k, j);
    }
  }
}

/// out += a b. Numbers that lie one after the other can be taken several at once.
void add_product_by_loops(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  if (b.column_step == 1) return add_rows(out, a, b);
  if (a.column_step == 1 && b.row_step == 1) return add_dots(out, a, b);
  add_anyhow(out, a, b);
}

#ifdef ATTENTION_BLAS

/// How BLAS is told where a matrix lies: rows one after the other, or (transposed) columns.
struct Placement {
  bool usable;      ///< neighbours in a row or in a column are neighbours in memory
  bool transposed;  ///< neighbours in a column are
  std::ptrdiff_t leading;
};

Placement place(const MatrixView& m) {
  // xtensor gives the step 0 to a side of length 1; BLAS never walks along it, but wants a number
  // that fits.
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

/// out = a b + keep * out. This is the call under xt::blas::gemm, which would copy a transposed or
/// cut-out matrix that is not known at compile time to lie row by row.
bool multiply_by_blas(const MatrixSpan& out, const MatrixView& a, const MatrixView& b, Real keep) {
  const Placement at_a = place(a);
  const Placement at_b = place(b);
  if (!at_a.usable || !at_b.usable) return false;
  using Index = xt::blas_index_t;
  const auto turn = [](bool transposed) { return transposed ? cxxblas::Trans : cxxblas::NoTrans; };
  cxxblas::gemm<Index>(cxxblas::RowMajor, turn(at_a.transposed), turn(at_b.transposed),
                       static_cast<Index>(a.rows), static_cast<Index>(b.columns),
                       static_cast<Index>(a.columns), Real{1}, a.data,
                       static_cast<Index>(at_a.leading), b.data, static_cast<Index>(at_b.leading),
                       keep, out.data, static_cast<Index>(out.row_step));
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
  return out;
}

void matmul_into(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  require_product(a, b);
  require_result(out, a, b);
  multiply(out, a, b, 0);
}

void matmul_add(const MatrixSpan& out, const MatrixView& a, const MatrixView& b) {
  require_product(a, b);
  require_result(out, a, b);
  multiply(out, a, b, 1);
}

void use_one_thread_a_product() {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}
