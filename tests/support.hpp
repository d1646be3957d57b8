#pragma once
/// @file
/// @brief What the tests of all chapters share: how matrices are compared and failures explained.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "common/random.hpp"
#include "common/rows.hpp"
#include "common/tensor.hpp"

/// Catch2 shows a matrix of a failed check as its shape and its numbers.
namespace Catch {
template <>
struct StringMaker<Matrix> {
  static std::string convert(const Matrix& m);
};
}  // namespace Catch

class Comparisons;

/// Two numbers count as equal when they differ by no more than this (times the number, when that is
/// above 1).
constexpr double tolerance = sizeof(Real) == 4 ? 1e-5 : 1e-9;

/// Compares a matrix with the right one. On failure it says how many entries are wrong, shows the
/// worst, and, when the matrix is one that a usual bug gives, names the bug.
class MatrixMatcher : public MatcherBase<Matrix> {
 public:
  explicit MatrixMatcher(Matrix expected) : expected_(std::move(expected)) {}

  /// Names a bug by the matrix that it gives.
  MatrixMatcher& unless(std::string bug, Matrix wrong) {
    return unless(std::move(bug), [wrong = std::move(wrong)] { return wrong; });
  }

  /// The same, for a matrix that takes time: it is computed when something is wrong.
  MatrixMatcher& unless(std::string bug, std::function<Matrix()> wrong) {
    wrong_versions_.push_back({std::move(bug), std::move(wrong)});
    return *this;
  }

  /// Names a bug by what can be read off the wrong matrix, when no wrong version explains it.
  /// @param diagnose  gets a matrix of the right shape; returns an empty text when it finds nothing
  MatrixMatcher& diagnosed_by(std::function<std::string(const Matrix&)> diagnose) {
    diagnose_ = std::move(diagnose);
    return *this;
  }

  bool match(const Matrix& got) const override;
  std::string describe() const override { return explanation_; }

 private:
  friend class Comparisons;
  struct WrongVersion {
    std::string name;
    std::function<Matrix()> result;
  };
  std::string explain(const Matrix& got) const;
  std::string differences(const Matrix& got) const;

  Matrix expected_;
  std::vector<WrongVersion> wrong_versions_;
  std::function<std::string(const Matrix&)> diagnose_;
  mutable std::string explanation_;
};

/// `CHECK_THAT(trace.weights, equals(expected).unless("softmax down the columns", wrong))`
inline MatrixMatcher equals(Matrix expected) {
  return MatrixMatcher(std::move(expected));
}

/// Comparisons that make one claim together, each with its own sizes. A bug is named only when
/// it explains the matrices of all sizes: at a single size √(d_k − 1) may well be √d_out.
class Comparisons {
 public:
  /// @param where  the sizes, for the message
  template <class Where>
  void add(const Where& where, Matrix got, MatrixMatcher right) {
    cases_.push_back({Catch::StringMaker<Where>::convert(where), std::move(got), std::move(right)});
  }

  /// What is wrong; empty when nothing is.
  std::string explain() const;

 private:
  struct Case {
    std::string where;
    Matrix got;
    MatrixMatcher right;
  };
  bool explains_all(std::size_t bug) const;

  std::vector<Case> cases_;
};

/// `CHECK_THAT(comparisons, all_agree())`
class AllAgree : public MatcherBase<Comparisons> {
 public:
  bool match(const Comparisons& comparisons) const override {
    explanation_ = comparisons.explain();
    return explanation_.empty();
  }
  std::string describe() const override { return explanation_; }

 private:
  mutable std::string explanation_;
};

inline AllAgree all_agree() {
  return {};
}

/// Whether two matrices have one shape and the same bits in every number.
bool identical(const Matrix& a, const Matrix& b);

/// Whether two matrices have one shape and equal numbers, within `tolerance`.
bool same(const Matrix& a, const Matrix& b);

/// Scores with the mean of each row taken away: a number added to a whole row of scores changes no
/// weight, so a version that has one more or less in its scores is right as well.
Matrix without_row_means(const Matrix& scores);

/// The sum of each row.
std::vector<Real> row_sums(const Matrix& m);

/// Numbers as they are printed, with four decimals.
Matrix rounded(const Matrix& m);

/// A matrix from numbers as they are written in a text.
Matrix decimals(std::initializer_list<std::initializer_list<double>> rows);

/// One number as a matrix, so that a failure can be explained.
Matrix number(double x);

/// Contiguous numbers, as a matrix of one row.
Matrix as_row(ConstRow numbers);

/// The smallest and the largest entry of each column, (2, d).
Matrix column_ranges(const Matrix& m);

/// Whether every entry of `context` is within the range of its column in `values`.
bool stays_in_range(const Matrix& context, const Matrix& values);

/// Sizes that all differ, so that nothing fits by chance, and a seed for the numbers.
struct Sizes {
  std::size_t T;
  std::size_t d_in;
  std::size_t d_k;
  std::size_t d_out;
  std::uint64_t seed;
};

/// Random sizes, different in every case, from one token to a dozen.
std::vector<Sizes> random_sizes();

/// The same, and a few with more tokens than any small constant.
std::vector<Sizes> random_and_long_sizes();
std::ostream& operator<<(std::ostream& out, const Sizes& sizes);

/// What the exception says that `call` throws.
template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

/// One case of a golden file: what a reference implementation computed, by name.
class Golden {
 public:
  /// All cases of tests/golden/NAME.json.
  static std::vector<Golden> load(const std::string& name);

  const Matrix& operator[](const std::string& name) const;

 private:
  std::vector<std::pair<std::string, Matrix>> matrices_;
};

/// The numbers of tests/golden/PATH.npy, row after row, whatever shape they have there.
std::vector<double> golden_numbers(const std::string& path);
