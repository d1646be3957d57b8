#pragma once
/// @file
/// @brief Models with random numbers in every tensor, and what the tests of chapter 07 ask of them.

#include <functional>
#include <ostream>

#include "07_reference.hpp"
#include "model.hpp"
#include "reference.hpp"
#include "support.hpp"

/// Sizes that all differ, so that nothing fits by chance, and a seed for the numbers.
struct ModelSizes {
  std::size_t symbols, context, layers, heads, width;
  std::size_t B, T;
  bool separate_head;
  std::uint64_t seed;
};

std::ostream& operator<<(std::ostream& out, const ModelSizes& s);

/// Two layers and a tied head; one layer and a head of its own; one token alone, in five heads.
const std::vector<ModelSizes>& model_sizes();

struct Example {
  GPT2 model;
  std::size_t B, T;
  std::vector<int> tokens;
  std::vector<int> targets;

  ModelPass pass(const Dropout& dropout = {}) const;
  slow::Shape shape() const { return {T, model.config.heads, model.config.layers}; }
};

/// Biases that are not zero, gains that are not one, weights that keep numbers about 1.
Example random_example(const ModelSizes& s);

/// Draws numbers for all tensors of a model.
void fill_at_random(GPT2& model, Generator& generator);

std::vector<int> random_tokens(std::size_t n, std::size_t symbols, std::uint64_t seed);

Matrix times(const Matrix& m, double factor);
Matrix rows_of(const Matrix& m, std::size_t first, std::size_t height);

/// The numbers of a model, or its gradients, by name.
slow::Weights weights_of(const GPT2& model);
slow::Matrices tensors_of(const GPT2& model);

/// What dropout did in a pass.
slow::Factors factors_of(const ModelPass& pass);

/// What a version gives for each way to compute; as it stands, the right one.
using ResultOf = std::function<Matrix(const slow::Way&)>;

/// The gradients of a computation in all of its inputs, for each way; the right ones are computed
/// once.
class Gradients {
 public:
  using Of = std::function<slow::Matrices(const slow::Way&)>;
  explicit Gradients(Of of) : of_(std::move(of)), right_(of_({})) {}

  const slow::Matrices& right() const { return right_; }
  /// Those in one of the inputs.
  ResultOf operator[](const std::string& name) const;

 private:
  Of of_;
  slow::Matrices right_;
};

/// Names the mistakes that change what is computed.
MatrixMatcher is_computed_by(const ResultOf& result);

/// A gradient, which may be wrong in ways of its own: forgotten, of the wrong sign or size, or
/// without a part of the chain.
MatrixMatcher is_the_gradient(const ResultOf& result);

/// The same where `before` was there already: gradients are added up.
MatrixMatcher adds_the_gradient(const Matrix& before, const ResultOf& result);

/// Checks gradients that were added to one number everywhere. Where several are wrong it explains
/// the first, and names the others.
void check_gradients(const slow::Matrices& got, const Gradients& slow, Real before = 0);

/// Checks a gradient against one that is measured, not derived: each number is moved a little up
/// and a little down, and `result` says what comes of it.
void check_measured(const std::string& name, ConstRow gradient, Row numbers,
                    const std::function<double()>& result);

/// How far the two may be apart, as a share of their size: rounding is all that is left in double,
/// and shows in float.
constexpr double most_relative_error = sizeof(Real) == 8 ? 1e-6 : 2e-2;

/// Of smaller gradients, such as that of b_key, which is 0 but for rounding, the error is taken as
/// a share of this.
constexpr double smallest_gradient = sizeof(Real) == 8 ? 1e-3 : 1e-2;

/// Σ g ⊙ y, the number whose gradient in y is g.
double weighted_sum(const Matrix& y, const Matrix& g);
