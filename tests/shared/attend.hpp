#pragma once
/// @file
/// @brief What `attend` must do between two sequences of any lengths, from chapter 05 on. A
/// chapter's tests include this after its own attention.hpp, shared/dropout.hpp and
/// shared/padding.hpp.

#include <cmath>
#include <vector>

#include "reference.hpp"
#include "support.hpp"

namespace shared {

/// What one call of `attend` gets.
struct Inputs {
  Matrix queries;
  Matrix keys;
  Matrix values;
  Matrix mask;
};

struct InputSizes {
  std::size_t T_q;
  std::size_t T_k;
  std::size_t d_k;
  std::size_t d_out;
};

inline std::ostream& operator<<(std::ostream& out, const InputSizes& s) {
  return out << "T_q = " << s.T_q << ", T_k = " << s.T_k << ", d_k = " << s.d_k
             << ", d_out = " << s.d_out;
}

/// More queries than keys, fewer, and as many; and lengths beyond any small constant.
inline std::vector<InputSizes> input_sizes() {
  return {{3, 5, 4, 2},   {5, 3, 2, 4},    {4, 4, 3, 7},    {1, 1, 2, 3},    {2, 9, 16, 5},
          {13, 17, 5, 6}, {33, 97, 12, 3}, {130, 33, 7, 2}, {6, 1024, 3, 2}, {300, 2, 9, 4}};
}

/// Random inputs, with padding at random indices.
inline Inputs random_inputs(const InputSizes& s, bool masked = true) {
  Generator generator(s.T_q * 131 + s.T_k);
  Inputs in{normal_matrix(s.T_q, s.d_k, generator), normal_matrix(s.T_k, s.d_k, generator),
            normal_matrix(s.T_k, s.d_out, generator), matrix(s.T_q, s.T_k)};
  if (masked) in.mask = padding_by_loops(s.T_q, random_presence(s.T_k, s.T_q));
  return in;
}

inline Matrix scores_over(const Inputs& in, double divisor) {
  return reference::divided(reference::dot_products(in.queries, in.keys), divisor);
}

inline double root_of(std::size_t size) {
  return std::sqrt(static_cast<double>(size));
}

inline Matrix right_scaled(const Inputs& in) {
  return scores_over(in, root_of(in.keys.shape(1)));
}

/// The weights by their definition, or with the scores over another divisor and another mask.
inline Matrix right_weights(const Inputs& in) {
  return reference::softmax(reference::sum(right_scaled(in), in.mask));
}

inline MatrixMatcher are_the_weights_of(const Inputs& in) {
  const auto divided_by = [in](double divisor) {
    return [=] { return reference::softmax(reference::sum(scores_over(in, divisor), in.mask)); };
  };
  const auto masked_by = [in](const Matrix& mask) {
    return [=] { return reference::softmax(reference::sum(right_scaled(in), mask)); };
  };
  const std::size_t T_q = in.queries.shape(0);
  const std::size_t T_k = in.keys.shape(0);
  const std::size_t d_k = in.keys.shape(1);
  const auto with = [&](const auto& is_hidden) {
    return reference::sum(in.mask, mask_where(T_q, T_k, is_hidden));
  };
  MatrixMatcher matcher = equals(right_weights(in));
  matcher.unless("the scores aren't divided by √d_k", divided_by(1))
      .unless("the scores are divided by d_k, not by its square root",
              divided_by(static_cast<double>(d_k)))
      .unless("the scores are divided by √T_q, the number of queries, not by √d_k",
              divided_by(root_of(T_q)))
      .unless("the scores are divided by √T_k, the number of keys, not by √d_k",
              divided_by(root_of(T_k)))
      .unless("the scores are divided by √d_out, the width of the values, not by √d_k",
              divided_by(root_of(in.values.shape(1))))
      .unless("the scores are multiplied by √d_k, not divided", divided_by(1 / root_of(d_k)))
      .unless("the mask is never added", masked_by(matrix(T_q, T_k)))
      .unless("the causal mask is still on: no token of the other sequence is the future",
              masked_by(with([](std::size_t i, std::size_t j) { return j > i; })))
      .unless("a causal mask is on that hides the diagonal as well",
              masked_by(with([](std::size_t i, std::size_t j) { return j >= i; })))
      .unless("a causal mask is on that counts from the end of the memory",
              masked_by(with([=](std::size_t i, std::size_t j) { return j + T_q > i + T_k; })))
      .unless("earlier tokens are hidden, as by a causal mask upside down",
              masked_by(with([](std::size_t i, std::size_t j) { return j < i; })))
      .unless("there are only as many keys as queries; the others get no weight",
              masked_by(with([=](std::size_t, std::size_t j) { return j >= T_q; })))
      .unless("there are only as many rows as keys; the other queries get no weights",
              [in, T_q, T_k] {
                Matrix weights = right_weights(in);
                for (std::size_t i = T_k; i < T_q; ++i) {
                  for (std::size_t j = 0; j < T_k; ++j) weights(i, j) = 0;
                }
                return weights;
              })
      .unless("a row whose first key is hidden counts as fully masked",
              [in, T_q, T_k] {
                Matrix weights = right_weights(in);
                for (std::size_t i = 0; i < T_q; ++i) {
                  for (std::size_t j = 0; j < T_k; ++j) {
                    if (in.mask(i, 0) < 0) weights(i, j) = 0;
                  }
                }
                return weights;
              })
      .unless("the queries are used as keys as well",
              [in, T_q, T_k] {
                if (T_q != T_k) return Matrix(matrix(0, 0));
                Inputs same_keys = in;
                same_keys.keys = in.queries;
                return right_weights(same_keys);
              })
      .unless("a key with the query's own index is hidden",
              masked_by(with([](std::size_t i, std::size_t j) { return i == j; })))
      .unless("the weights are normalised down the columns, so the columns sum to 1, not the rows",
              [in] {
                return reference::wrong::softmax_down_the_columns(
                    reference::sum(right_scaled(in), in.mask));
              })
      .unless("the weights are set to 0 after softmax, so the rest of a row sums to less than 1",
              [in] {
                Matrix weights = reference::softmax(right_scaled(in));
                for (std::size_t n = 0; n < weights.size(); ++n) {
                  if (in.mask.flat(n) < 0) weights.flat(n) = 0;
                }
                return weights;
              });
  for (const std::size_t limit : {8U, 12U, 16U, 32U, 64U, 128U}) {
    matcher.unless("only the first " + std::to_string(limit) + " keys get any weight",
                   masked_by(with([=](std::size_t, std::size_t j) { return j >= limit; })));
  }
  return matcher;
}

/// Scores may have a number added to each row, and may be scaled already: no weight changes.
inline void check_scores(const Trace& trace, const Inputs& in) {
  const Matrix scaled = without_row_means(right_scaled(in));
  const Matrix scores = without_row_means(trace.scores);
  if (!same(scores, scaled)) {
    INFO("trace.scores, with the mean of each row subtracted");
    CHECK_THAT(scores, equals(without_row_means(scores_over(in, 1)))
                           .unless("the scores are zero", matrix(scores.shape(0), scores.shape(1)))
                           .unless("the scores are masked already", trace.masked));
  }
  INFO("trace.scaled, with the mean of each row subtracted");
  CHECK_THAT(without_row_means(trace.scaled),
             equals(scaled)
                 .unless("these are the scores, not scaled", without_row_means(scores_over(in, 1)))
                 .unless("the scaled scores are zero", matrix(scaled.shape(0), scaled.shape(1))));
}

/// Scores with the mean of each row's visible entries subtracted, and 1 in place of −∞.
inline Matrix without_visible_means(const Matrix& scores, const Matrix& mask) {
  Matrix result = with_ones(scores);
  for (std::size_t i = 0; i < mask.shape(0); ++i) {
    double sum = 0;
    double count = 0;
    for (std::size_t j = 0; j < mask.shape(1); ++j) {
      if (mask(i, j) == 0) sum += static_cast<double>(scores(i, j));
      if (mask(i, j) == 0) ++count;
    }
    for (std::size_t j = 0; j < mask.shape(1); ++j) {
      if (mask(i, j) == 0) result(i, j) -= static_cast<Real>(sum / count);
    }
  }
  return result;
}

/// The masked scores are −∞ where the mask is, and the scaled scores elsewhere.
inline void check_masked(const Trace& trace, const Inputs& in) {
  const auto centered = [&](const Matrix& scores) {
    return without_visible_means(scores, in.mask);
  };
  INFO("trace.masked, with 1 in place of −∞, and the mean of each row's other entries subtracted");
  CHECK_THAT(centered(trace.masked),
             equals(centered(reference::sum(right_scaled(in), in.mask)))
                 .unless("the mask is never added", centered(right_scaled(in)))
                 .unless("this is the mask alone", centered(in.mask))
                 .unless("the scores are masked before they are scaled, and stay unscaled",
                         centered(reference::sum(scores_over(in, 1), in.mask))));
}

}  // namespace shared

TEST_CASE("attend records every tensor as it is defined for any two lengths") {
  for (const shared::InputSizes& sizes : shared::input_sizes()) {
    for (const bool masked : {false, true}) {
      const shared::Inputs in = shared::random_inputs(sizes, masked);
      INFO("attend with " << sizes << (masked ? ", under a padding mask" : ""));
      const Trace trace = attend(in.queries, in.keys, in.values, in.mask);
      CHECK_THAT(trace.queries, equals(in.queries).unless("these are the keys", in.keys));
      CHECK_THAT(trace.keys, equals(in.keys).unless("these are the values", in.values));
      CHECK_THAT(trace.values, equals(in.values).unless("these are the keys", in.keys));
      shared::check_scores(trace, in);
      shared::check_masked(trace, in);
      REQUIRE_THAT(trace.weights, shared::are_the_weights_of(in));  // longer inputs say no more
      CHECK_THAT(trace.weights_after_dropout, equals(shared::right_weights(in)));
      CHECK_THAT(trace.context,
                 equals(reference::product(shared::right_weights(in), in.values))
                     .unless("the keys are summed, not the values",
                             reference::product(shared::right_weights(in), in.keys)));
    }
  }
}

TEST_CASE("attend gives each visible key its weight however large the hidden scores are") {
  const Matrix query = {{1}};
  const Matrix values = {{1, 10}, {2, 20}, {4, 40}, {8, 80}};
  for (const Real visible : {Real(0), Real(-200), Real(200), Real(-1e5)}) {
    for (const Real hidden : {Real(0), Real(300), Real(-300), Real(1e5), Real(1e30)}) {
      const Matrix keys = {{visible}, {hidden}, {visible - 1}, {hidden}};
      const Matrix mask = {{0, shared::minus_infinity, 0, shared::minus_infinity}};
      const Trace trace = attend(query, keys, values, mask);
      const Matrix seen = {{visible, shared::minus_infinity, visible - 1, shared::minus_infinity}};
      INFO("visible scores of " << visible << " and " << visible - 1 << ", hidden ones of "
                                << hidden << ": the mask must be added before softmax subtracts "
                                << "the maximum");
      CHECK_THAT(trace.weights, equals(reference::softmax(seen)));
      CHECK(trace.weights(0, 1) == 0);
      CHECK(trace.weights(0, 3) == 0);
      CHECK_THAT(trace.context, equals(reference::product(reference::softmax(seen), values)));
    }
  }
}

TEST_CASE("scores of a thousand and below minus ten thousand still become probabilities") {
  const Matrix queries = {{10, 0, 0, 0}, {-10, 0, 0, 0}, {-200, 1, 0, 0}, {0, 0, 0, 0}};
  const Matrix keys = {{200, 0, 0, 0}, {200, 0, 0, 0}, {220, 1000, 0, 0}};
  const shared::Inputs in{queries, keys, {{1, 2}, {3, 4}, {5, 6}}, matrix(4, 3)};
  const Trace trace = attend(in.queries, in.keys, in.values, in.mask);
  INFO("softmax has to subtract the maximum of a row before it computes exponentials");
  CHECK_THAT(trace.weights, shared::are_the_weights_of(in));
  CHECK_THAT(trace.context, equals(reference::product(shared::right_weights(in), in.values)));
}

TEST_CASE("attend rejects a mask of the wrong shape with both shapes") {
  const shared::Inputs in = shared::random_inputs({3, 5, 4, 2}, false);
  struct Shape {
    std::size_t rows;
    std::size_t columns;
  };
  for (const Shape shape : {Shape{5, 3}, Shape{1, 5}, Shape{3, 1}, Shape{1, 1}, Shape{4, 5},
                            Shape{3, 4}, Shape{3, 3}, Shape{5, 5}, Shape{0, 0}, Shape{15, 1}}) {
    const Matrix mask = matrix(shape.rows, shape.columns);
    INFO("three queries, five keys, and a mask of " << shape_text(mask) << ": only (3, 5) fits");
    CHECK_THAT(message_of([&] { attend(in.queries, in.keys, in.values, mask); }),
               ContainsSubstring("mask is " + shape_text(mask)) && ContainsSubstring("(3, 5)"));
  }
}

TEST_CASE("attend rejects matrices that don't fit together with their shapes") {
  const shared::Inputs in = shared::random_inputs({3, 5, 4, 2}, false);
  {
    INFO("five keys need five values");
    CHECK_THAT(message_of([&] { attend(in.queries, in.keys, matrix(4, 2), in.mask); }),
               ContainsSubstring("(3, 5)") && ContainsSubstring("(4, 2)"));
  }
  INFO("queries and keys need the same width");
  CHECK_THAT(message_of([&] { attend(in.queries, matrix(5, 6), in.values, in.mask); }),
             ContainsSubstring("4") && ContainsSubstring("6"));
}

TEST_CASE("attend applies dropout to the weights and to nothing else", "[A15]") {
  const shared::InputSizes sizes{60, 90, 5, 4};
  const shared::Inputs in = shared::random_inputs(sizes, true);
  const Matrix weights = shared::right_weights(in);
  std::size_t visible = 0;
  for (const Real entry : in.mask) visible += entry == 0 ? 1 : 0;
  for (const Real p : {Real(0.1), Real(0.5), Real(0.75)}) {
    Generator generator(541);
    const auto run = [&] {
      return attend(in.queries, in.keys, in.values, in.mask, Training{p, generator});
    };
    const Trace trace = run();
    INFO("attend with a dropout probability of " << p);
    CHECK_THAT(trace.weights,
               equals(weights).unless("these are the weights after dropout, not before it",
                                      trace.weights_after_dropout));
    const double zeros =
        shared::dropped_together(trace.weights_after_dropout, trace.weights_after_dropout) *
        static_cast<double>(weights.size());
    const double hidden = static_cast<double>(weights.size() - visible);
    const double dropped = (zeros - hidden) / static_cast<double>(visible);
    const double q = static_cast<double>(p);
    {
      INFO(dropped << " of the visible weights are dropped; five standard deviations are allowed");
      CHECK_THAT(dropped, WithinAbs(q, 5 * std::sqrt(q * (1 - q) / static_cast<double>(visible))));
    }
    CHECK(shared::wrong_factors(trace.weights_after_dropout, weights, q) == "");
    CHECK_THAT(trace.context,
               equals(reference::product(trace.weights_after_dropout, in.values))
                   .unless("the context sums the values by the weights before dropout",
                           reference::product(weights, in.values)));
    INFO("a second call drops the same weights: each step must sample a new dropout mask");
    CHECK_FALSE(identical(run().weights_after_dropout, trace.weights_after_dropout));
  }
}

TEST_CASE("dropout drops a weight of 1 on the only key as well", "[A15]") {
  Generator generator(541);
  const Matrix queries = normal_matrix(400, 3, generator);
  const Trace trace = attend(queries, matrix(1, 3, 1), matrix(1, 2, 1), matrix(400, 1),
                             Training{Real(0.5), generator});
  const double dropped =
      shared::dropped_together(trace.weights_after_dropout, trace.weights_after_dropout);
  INFO(dropped << " of 400 weights are dropped; five standard deviations are allowed");
  CHECK_THAT(dropped, WithinAbs(0.5, 5 * std::sqrt(0.25 / 400)));
}
