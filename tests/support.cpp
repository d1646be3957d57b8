#include "support.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

#if __has_include(<xtensor/io/xnpy.hpp>)
#include <xtensor/io/xnpy.hpp>
#else
#include <xtensor/xnpy.hpp>
#endif

namespace {

constexpr std::size_t largest_printed = 8;  // a side; larger matrices are shown by their shape

bool close(Real got, Real want) {
  if (got == want) return true;
  if (std::isinf(want)) return false;  // an infinity is close to nothing but itself
  const auto difference = std::abs(static_cast<double>(got) - static_cast<double>(want));
  return difference <= tolerance * std::max(1.0, std::abs(static_cast<double>(want)));
}

Matrix from_json(const nlohmann::json& rows) {
  const std::size_t columns = rows.empty() ? 0 : rows[0].size();
  Matrix m = matrix(rows.size(), columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) m(i, j) = rows[i][j].get<Real>();
  }
  return m;
}

/// What to say of numbers that are right but for the digits after a few.
std::string digits_lost(const Matrix& got, const Matrix& right) {
  for (const int digits : {2, 3, 4}) {
    const double scale = std::pow(10, digits);
    bool rounded = true;
    for (std::size_t n = 0; n < got.size() && rounded; ++n) {
      const auto number = static_cast<double>(got.flat(n));
      rounded = std::abs(std::round(number * scale) / scale - number) < tolerance / 10 &&
                std::abs(number - static_cast<double>(right.flat(n))) <= 1 / scale;
    }
    if (rounded) return fmt::format("\n  This looks like: it's rounded to {} digits.", digits);
  }
  return "";
}

/// Whether a wrong version explains every entry, also those that are not a number in both.
bool explains(const Matrix& wrong, const Matrix& got) {
  if (got.shape() != wrong.shape()) return false;
  for (std::size_t n = 0; n < got.size(); ++n) {
    const bool both_nan = std::isnan(got.flat(n)) && std::isnan(wrong.flat(n));
    if (!both_nan && !close(got.flat(n), wrong.flat(n))) return false;
  }
  return true;
}

}  // namespace

std::string Catch::StringMaker<Matrix>::convert(const Matrix& m) {
  std::string text = "a matrix of " + shape_text(m);
  if (m.shape(0) > largest_printed || m.shape(1) > largest_printed) return text;
  for (std::size_t i = 0; i < m.shape(0); ++i) {
    text += "\n ";
    for (std::size_t j = 0; j < m.shape(1); ++j) text += fmt::format(" {:9.5f}", m(i, j));
  }
  return text;
}

bool identical(const Matrix& a, const Matrix& b) {
  return a.shape() == b.shape() &&
         (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

bool same(const Matrix& a, const Matrix& b) {
  if (a.shape() != b.shape()) return false;
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    for (std::size_t j = 0; j < a.shape(1); ++j) {
      if (!close(a(i, j), b(i, j))) return false;
    }
  }
  return true;
}

bool MatrixMatcher::match(const Matrix& got) const {
  if (same(got, expected_)) return true;
  explanation_ = explain(got);
  return false;
}

std::string MatrixMatcher::explain(const Matrix& got) const {
  for (const WrongVersion& wrong : wrong_versions_) {
    const Matrix result = wrong.result();
    if (explains(result, got) && !same(result, expected_)) {
      return "\n  This looks like: " + wrong.name + "." + differences(got);
    }
  }
  if (got.shape() != expected_.shape()) return differences(got);
  if (diagnose_) {
    const std::string found = diagnose_(got);
    if (!found.empty()) return "\n  This looks like: " + found + "." + differences(got);
  }
  return digits_lost(got, expected_) + differences(got);
}

std::string MatrixMatcher::differences(const Matrix& got) const {
  if (got.shape() != expected_.shape()) {
    std::string text = fmt::format("\n  Its shape is {}; it should be {}.", shape_text(got),
                                   shape_text(expected_));
    if (got.size() == 0) text += " Nothing has been written to it.";
    if (got.size() != 0 && got.shape(0) == expected_.shape(1) &&
        got.shape(1) == expected_.shape(0)) {
      text += " It's transposed.";
    }
    return text;
  }
  std::size_t wrong = 0;
  std::size_t row = 0;
  std::size_t column = 0;
  double worst = -1;
  for (std::size_t i = 0; i < got.shape(0); ++i) {
    for (std::size_t j = 0; j < got.shape(1); ++j) {
      if (close(got(i, j), expected_(i, j))) continue;
      ++wrong;
      const double difference =
          std::abs(static_cast<double>(got(i, j)) - static_cast<double>(expected_(i, j)));
      if (worst < 0 || difference > worst || std::isnan(difference)) {
        worst = difference;
        row = i;
        column = j;
      }
    }
  }
  return fmt::format(
      "\n  {} of {} entries are wrong. The worst is ({}, {}): got {:.6f}, want {:.6f}.", wrong,
      got.size(), row, column, got(row, column), expected_(row, column));
}

bool Comparisons::explains_all(std::size_t bug) const {
  return std::all_of(cases_.begin(), cases_.end(), [bug](const Case& each) {
    const auto& bugs = each.right.wrong_versions_;
    return bug < bugs.size() && ::explains(bugs[bug].result(), each.got);
  });
}

std::string Comparisons::explain() const {
  const auto wrong = [](const Case& each) { return !same(each.got, each.right.expected_); };
  const auto first = std::find_if(cases_.begin(), cases_.end(), wrong);
  if (first == cases_.end()) return "";
  std::string text;
  const auto& bugs = first->right.wrong_versions_;
  for (std::size_t bug = 0; bug < bugs.size() && text.empty(); ++bug) {
    if (explains_all(bug)) text = "\n  This looks like: " + bugs[bug].name + ".";
  }
  return text + fmt::format("\n  {} of {} sizes are wrong; the first is {}.{}",
                            std::count_if(cases_.begin(), cases_.end(), wrong), cases_.size(),
                            first->where, first->right.differences(first->got));
}

Matrix without_row_means(const Matrix& scores) {
  Matrix centered = scores;
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < scores.shape(1); ++j) sum += static_cast<double>(scores(i, j));
    const auto mean = static_cast<Real>(sum / static_cast<double>(scores.shape(1)));
    for (std::size_t j = 0; j < scores.shape(1); ++j) centered(i, j) -= mean;
  }
  return centered;
}

std::vector<Real> row_sums(const Matrix& m) {
  std::vector<Real> sums;
  for (std::size_t i = 0; i < m.shape(0); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < m.shape(1); ++j) sum += static_cast<double>(m(i, j));
    sums.push_back(static_cast<Real>(sum));
  }
  return sums;
}

Matrix rounded(const Matrix& m) {
  Matrix result = m;
  for (Real& entry : result) {
    entry = static_cast<Real>(std::round(static_cast<double>(entry) * 1e4) / 1e4);
  }
  return result;
}

Matrix decimals(std::initializer_list<std::initializer_list<double>> rows) {
  Matrix m = matrix(rows.size(), rows.begin()->size());
  auto entry = m.begin();
  for (const auto& row : rows) {
    entry = std::transform(row.begin(), row.end(), entry,
                           [](double x) { return static_cast<Real>(x); });
  }
  return m;
}

Matrix number(double x) {
  return Matrix(Matrix::shape_type{1, 1}, static_cast<Real>(x));
}

Matrix as_row(ConstRow numbers) {
  Matrix m = matrix(1, numbers.size());
  std::copy(numbers.begin(), numbers.end(), m.begin());
  return m;
}

Matrix column_ranges(const Matrix& m) {
  Matrix ranges = matrix(2, m.shape(1));
  for (std::size_t j = 0; j < m.shape(1); ++j) {
    ranges(0, j) = ranges(1, j) = m(0, j);
    for (std::size_t i = 1; i < m.shape(0); ++i) {
      ranges(0, j) = std::min(ranges(0, j), m(i, j));
      ranges(1, j) = std::max(ranges(1, j), m(i, j));
    }
  }
  return ranges;
}

bool stays_in_range(const Matrix& context, const Matrix& values) {
  const Matrix ranges = column_ranges(values);
  const auto slack = static_cast<Real>(tolerance);
  for (std::size_t i = 0; i < context.shape(0); ++i) {
    for (std::size_t j = 0; j < context.shape(1); ++j) {
      const bool inside =
          context(i, j) >= ranges(0, j) - slack && context(i, j) <= ranges(1, j) + slack;
      if (!inside) return false;
    }
  }
  return true;
}

std::vector<Sizes> random_sizes() {
  // A square comes first: exchanged matrices fit together there, so nothing throws. But transposes
  // hide.
  std::vector<Sizes> all = {{3, 3, 3, 3, 8}};
  std::mt19937 engine(2017);
  while (all.size() < 9) {
    const auto draw = [&engine] { return std::size_t{2} + engine() % 11; };
    const Sizes sizes{draw(), draw(), draw(), draw(), engine()};
    const bool all_differ = sizes.T != sizes.d_in && sizes.T != sizes.d_k &&
                            sizes.T != sizes.d_out && sizes.d_in != sizes.d_k &&
                            sizes.d_in != sizes.d_out && sizes.d_k != sizes.d_out;
    if (all_differ) all.push_back(sizes);
  }
  all.push_back({1, 2, 3, 4, 7});  // one token comes last, because most bugs look alike there
  return all;
}

std::vector<Sizes> random_and_long_sizes() {
  std::vector<Sizes> all = random_sizes();
  all.insert(all.end(), {{33, 4, 5, 3, 331}, {97, 3, 2, 5, 971}, {130, 5, 3, 4, 1301}});
  return all;
}

std::ostream& operator<<(std::ostream& out, const Sizes& sizes) {
  return out << "T = " << sizes.T << ", d_in = " << sizes.d_in << ", d_k = " << sizes.d_k
             << ", d_out = " << sizes.d_out << ", seed " << sizes.seed;
}

std::vector<Golden> Golden::load(const std::string& name) {
  const std::string path = std::string(GOLDEN_FOLDER) + "/" + name + ".json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<Golden> cases;
  const nlohmann::json content = nlohmann::json::parse(file);
  for (const auto& entry : content.at("cases")) {
    Golden golden;
    for (const auto& [key, rows] : entry.items())
      golden.matrices_.emplace_back(key, from_json(rows));
    cases.push_back(std::move(golden));
  }
  return cases;
}

const Matrix& Golden::operator[](const std::string& name) const {
  for (const auto& [key, matrix] : matrices_) {
    if (key == name) return matrix;
  }
  throw std::out_of_range("the golden file has no " + name);
}

std::vector<double> golden_numbers(const std::string& path) {
  const auto numbers = xt::load_npy<double>(std::string(GOLDEN_FOLDER) + "/" + path + ".npy");
  return {numbers.begin(), numbers.end()};
}
