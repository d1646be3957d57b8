#include "07_examples.hpp"

#include <cmath>

namespace {

/// A tensor as a matrix; a vector is one row.
Matrix matrix_of(const Parameter& parameter) {
  const std::size_t columns = parameter.shape.back();
  Matrix m = matrix(parameter.numbers.size() / columns, columns);
  std::copy(parameter.numbers.begin(), parameter.numbers.end(), m.begin());
  return m;
}

double size_of(ConstRow numbers) {
  double sum = 0;
  for (const Real x : numbers) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum);
}

/// How fast `result` grows with each number: (1, n).
Matrix measured_gradient(Row numbers, const std::function<double()>& result) {
  const double little = sizeof(Real) == 8 ? 1e-5 : 1e-2;
  Matrix gradient = matrix(1, numbers.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const Real before = numbers[k];
    numbers[k] = before + static_cast<Real>(little);
    const double above = result();
    numbers[k] = before - static_cast<Real>(little);
    const double below = result();
    numbers[k] = before;
    gradient(0, k) = static_cast<Real>((above - below) / (2 * little));
  }
  return gradient;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const ModelSizes& s) {
  return out << s.symbols << " symbols, a context of " << s.context << ", " << s.layers
             << " layers, " << s.heads << " heads, width " << s.width << "; " << s.B
             << " sequences of " << s.T << " tokens, "
             << (s.separate_head ? "a head of its own" : "a tied head") << ", seed " << s.seed;
}

const std::vector<ModelSizes>& model_sizes() {
  static const std::vector<ModelSizes> all = {{7, 5, 2, 3, 6, 2, 4, false, 71},
                                              {11, 3, 1, 4, 8, 3, 3, true, 72},
                                              {4, 6, 1, 5, 10, 2, 1, false, 73}};
  return all;
}

ModelPass Example::pass(const Dropout& dropout) const {
  ModelPass pass(model.config, B, T);
  model.forward(pass, tokens, dropout);
  return pass;
}

void fill_at_random(GPT2& model, Generator& generator) {
  for (const Parameter& parameter : model.parameters()) {
    const bool embedding = parameter.name.find("embedding") != std::string::npos;
    const bool gain = parameter.name.find("gain") != std::string::npos;
    const double rows = static_cast<double>(parameter.shape[0]);
    double spread = parameter.is_matrix() ? 1 / std::sqrt(rows) : 0.4;
    if (embedding || parameter.name == "head") spread = 0.5;
    for (Real& number : parameter.numbers) {
      number = (gain ? Real{1} : Real{0}) + static_cast<Real>(spread) * generator.normal();
    }
  }
}

std::vector<int> random_tokens(std::size_t n, std::size_t symbols, std::uint64_t seed) {
  std::mt19937 engine(static_cast<std::uint32_t>(seed));
  std::vector<int> tokens(n);
  for (int& token : tokens) token = static_cast<int>(engine() % symbols);
  return tokens;
}

Example random_example(const ModelSizes& s) {
  Generator generator(s.seed);
  GPT2 model(Config{s.symbols, s.context, s.layers, s.heads, s.width});
  if (s.separate_head) model.head = matrix(s.symbols, s.width);
  fill_at_random(model, generator);
  return {model, s.B, s.T, random_tokens(s.B * s.T, s.symbols, s.seed),
          random_tokens(s.B * s.T, s.symbols, s.seed + 1)};
}

Matrix times(const Matrix& m, double factor) {
  Matrix product = m;
  for (Real& x : product) x *= static_cast<Real>(factor);
  return product;
}

Matrix rows_of(const Matrix& m, std::size_t first, std::size_t height) {
  Matrix rows = matrix(height, m.shape(1));
  std::copy_n(row(m, first).begin(), rows.size(), rows.begin());
  return rows;
}

slow::Matrices tensors_of(const GPT2& model) {
  slow::Matrices all;
  GPT2 copy = model;
  for (const Parameter& parameter : copy.parameters()) all[parameter.name] = matrix_of(parameter);
  return all;
}

slow::Weights weights_of(const GPT2& model) {
  slow::Weights all;
  for (const auto& [name, m] : tensors_of(model)) all[name] = slow::Table(m);
  return all;
}

slow::Factors factors_of(const ModelPass& pass) {
  slow::Factors all;
  all.embedded = slow::Table(pass.factors);
  for (const BlockPass& block : pass.blocks) {
    for (const Pass& head : block.attention.heads) all.heads.emplace_back(head.factors);
    all.halves_1.emplace_back(block.factors_1);
    all.halves_2.emplace_back(block.factors_2);
  }
  return all;
}

ResultOf Gradients::operator[](const std::string& name) const {
  return [of = of_, right = right_.at(name), name](const slow::Way& way) {
    return way == slow::Way{} ? right : of(way).at(name);
  };
}

MatrixMatcher is_computed_by(const ResultOf& result) {
  MatrixMatcher matcher = equals(result({}));
  for (const slow::Mistake& mistake : slow::mistakes_forward()) {
    matcher.unless(mistake.name, [&mistake, result] { return result(mistake.way); });
  }
  return matcher;
}

MatrixMatcher is_the_gradient(const ResultOf& result) {
  const Matrix right = result({});
  MatrixMatcher matcher = equals(right);
  matcher.unless("no gradient arrives here", times(right, 0));
  matcher.unless("the gradient has the wrong sign", times(right, -1));
  matcher.unless("the gradient is added twice", times(right, 2));
  for (const slow::Mistake& mistake : slow::mistakes_backward()) {
    matcher.unless(mistake.name, [&mistake, result] { return result(mistake.way); });
  }
  return matcher;
}

MatrixMatcher adds_the_gradient(const Matrix& before, const ResultOf& result) {
  const auto added = [before, result](const slow::Way& way) {
    return reference::sum(before, result(way));
  };
  const Matrix right = result({});
  MatrixMatcher matcher = is_the_gradient(added);
  matcher.unless("the gradient overwrites what was there; it must be added to it", right);
  matcher.unless("no gradient arrives here", before);
  matcher.unless("the gradient has the wrong sign", reference::sum(before, times(right, -1)));
  matcher.unless("the gradient is added twice", reference::sum(before, times(right, 2)));
  return matcher;
}

void check_gradients(const slow::Matrices& got, const Gradients& slow, Real before) {
  std::vector<std::string> wrong;
  for (const auto& [name, gradient] : got) {
    const Matrix start(gradient.shape(), before);
    if (!same(gradient, reference::sum(start, slow.right().at(name)))) wrong.push_back(name);
  }
  std::string others;
  for (std::size_t k = 1; k < wrong.size(); ++k) others += "\n  the gradient of " + wrong[k];
  if (wrong.empty()) return;
  INFO("the gradient of " << wrong[0]);
  INFO(wrong.size() - 1 << " more gradients are wrong" << others);
  const Matrix& first = got.at(wrong[0]);
  CHECK_THAT(first, adds_the_gradient(Matrix(first.shape(), before), slow[wrong[0]]));
}

void check_measured(const std::string& name, ConstRow gradient, Row numbers,
                    const std::function<double()>& result) {
  const Matrix measured = measured_gradient(numbers, result);
  std::vector<Real> difference(gradient.begin(), gradient.end());
  for (std::size_t k = 0; k < difference.size(); ++k) difference[k] -= measured(0, k);
  const double size = std::max({size_of(gradient), size_of(row(measured, 0)), smallest_gradient});
  INFO("the gradient of " << name << " and the measured one, as a share of their size");
  CHECK(size_of(difference) / size <= most_relative_error);
}

double weighted_sum(const Matrix& y, const Matrix& g) {
  double sum = 0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    sum += static_cast<double>(y.data()[k]) * static_cast<double>(g.data()[k]);
  }
  return sum;
}
