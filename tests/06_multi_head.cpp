/// @file
/// @brief What chapter 06 says about heads side by side, as tests.

#include <optional>

#include "common/random.hpp"
#include "common/tensor.hpp"

namespace chapter_03 {
#include "chapters/03_scaling/attention.hpp"
}

namespace chapter_05 {
#include "chapters/05_cross_attention/attention.hpp"
}

#include "attention.hpp"

#include <functional>

#include "common/measure.hpp"
#include "common/text.hpp"
#include "reference.hpp"
#include "support.hpp"

// --- what every chapter's code must do ---------------------------------------------------------

namespace shared {

constexpr std::size_t d_in = 5;

inline Attention make_attention(std::size_t columns_in, std::size_t columns_out,
                                Generator& generator) {
  return Attention(columns_in, columns_out, 3, generator);
}

inline void self_attention(const Matrix& X) {
  Generator generator(1);
  make_attention(d_in, 6, generator).forward(X, X, causal_mask(X.shape(0)));
}

}  // namespace shared

#include "shared/causal_mask.hpp"
#include "shared/constructor.hpp"
#include "shared/dropout.hpp"
#include "shared/finiteness.hpp"
#include "shared/softmax.hpp"

// After those that it builds on.
#include "shared/padding.hpp"

#include "shared/attend.hpp"

namespace {

using Matrices = std::vector<Matrix>;

constexpr Real infinity = std::numeric_limits<Real>::infinity();

// --- examples: sizes that all differ, weights of any width, masks of every kind ------------------

struct HeadSizes {
  std::size_t T_q;
  std::size_t T_k;
  std::size_t d_in;
  std::size_t n_heads;
  std::size_t key_width;    // of one head
  std::size_t value_width;  // of one head
  std::size_t d_final;      // columns of W_out
  std::uint64_t seed;       // of the weights and inputs, and of which mask there is
};

std::ostream& operator<<(std::ostream& out, const HeadSizes& s) {
  return out << "T_q = " << s.T_q << ", T_k = " << s.T_k << ", d_in = " << s.d_in << ", "
             << s.n_heads << " heads, " << s.key_width << " columns of keys and " << s.value_width
             << " of values a head, " << s.d_final << " columns of output, seed " << s.seed;
}

std::vector<HeadSizes> head_sizes() {
  std::vector<HeadSizes> all = {{4, 4, 12, 3, 4, 4, 12, 2},  // a square, where transposes hide
                                {1, 1, 2, 3, 2, 4, 5, 1},    // one query, one key
                                {33, 97, 5, 3, 4, 2, 7, 3},  // longer than any small constant
                                {130, 34, 4, 3, 2, 3, 5, 4}};
  std::mt19937 engine(2017);
  while (all.size() < 14) {
    const auto draw = [&engine](std::size_t least, std::size_t most) {
      return least + engine() % (most - least + 1);
    };
    const HeadSizes s{draw(2, 8), draw(2, 8), draw(2, 11), draw(3, 5),
                      draw(2, 6), draw(1, 6), draw(2, 20), engine()};
    const bool all_differ = s.T_q != s.T_k && s.d_in != s.key_width && s.d_in != s.value_width &&
                            s.key_width != s.value_width && s.n_heads != s.key_width &&
                            s.n_heads != s.value_width && s.d_final != s.n_heads * s.value_width;
    if (all_differ) all.push_back(s);
  }
  return all;
}

struct Example {
  Attention attention;
  Matrix queries_from;
  Matrix memory;
  Matrix mask;

  MultiHeadTrace trace() const { return attention.forward(queries_from, memory, mask); }
};

Matrix zeros(std::size_t rows, std::size_t columns) {
  return reference::make(rows, columns);
}

/// Weights of a size that keeps the columns of X W about 1.
Matrix weights_of_size(std::size_t rows, std::size_t columns, Generator& generator) {
  return reference::divided(normal_matrix(rows, columns, generator),
                            std::sqrt(static_cast<double>(rows)));
}

/// Row i attends to the columns up to i, for any number of columns.
Matrix hide_what_follows(std::size_t T_q, std::size_t T_k) {
  Matrix mask = zeros(T_q, T_k);
  for (std::size_t i = 0; i < T_q; ++i) {
    for (std::size_t j = i + 1; j < T_k; ++j) mask(i, j) = -infinity;
  }
  return mask;
}

/// No row attends to the second column, the fourth, and so on.
Matrix hide_every_other(std::size_t T_q, std::size_t T_k) {
  Matrix mask = zeros(T_q, T_k);
  for (std::size_t i = 0; i < T_q; ++i) {
    for (std::size_t j = 1; j < T_k; j += 2) mask(i, j) = -infinity;
  }
  return mask;
}

Attention random_attention(const HeadSizes& s, Generator& generator) {
  Attention attention(1, s.n_heads, s.n_heads, generator);
  attention.W_query = weights_of_size(s.d_in, s.n_heads * s.key_width, generator);
  attention.W_key = weights_of_size(s.d_in, s.n_heads * s.key_width, generator);
  attention.W_value = weights_of_size(s.d_in, s.n_heads * s.value_width, generator);
  attention.W_out = weights_of_size(s.n_heads * s.value_width, s.d_final, generator);
  return attention;
}

Example random_example(const HeadSizes& s) {
  Generator generator(s.seed);
  const Attention attention = random_attention(s, generator);
  const Matrices masks = {zeros(s.T_q, s.T_k), hide_what_follows(s.T_q, s.T_k),
                          hide_every_other(s.T_q, s.T_k)};
  return {attention, normal_matrix(s.T_q, s.d_in, generator),
          normal_matrix(s.T_k, s.d_in, generator), masks[s.seed % masks.size()]};
}

/// Five heads, more keys than queries, and an all-zero mask.
Example unmasked_example() {
  Example e = random_example({4, 6, 7, 5, 3, 2, 8, 606});
  e.mask = zeros(4, 6);
  return e;
}

Matrix identity(std::size_t size) {
  Matrix m = zeros(size, size);
  for (std::size_t i = 0; i < size; ++i) m(i, i) = 1;
  return m;
}

// --- ways to divide columns among heads, and to join them: one right, the others wrong -----------

/// The right way: neighbouring columns.
Matrix columns_of(const Matrix& m, std::size_t head, std::size_t n_heads) {
  const std::size_t width = m.shape(1) / n_heads;
  Matrix part = zeros(m.shape(0), width);
  for (std::size_t i = 0; i < m.shape(0); ++i) {
    for (std::size_t j = 0; j < width; ++j) part(i, j) = m(i, head * width + j);
  }
  return part;
}

/// The elements of (T, n_heads · width) taken as if they were (n_heads, T, width).
Matrix split_by_reshaping(const Matrix& m, std::size_t head, std::size_t n_heads) {
  const std::size_t width = m.shape(1) / n_heads;
  Matrix part = zeros(m.shape(0), width);
  for (std::size_t i = 0; i < m.shape(0); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t n = (head * m.shape(0) + i) * width + j;
      part(i, j) = m(n / m.shape(1), n % m.shape(1));
    }
  }
  return part;
}

Matrix every_nth_column(const Matrix& m, std::size_t head, std::size_t n_heads) {
  const std::size_t width = m.shape(1) / n_heads;
  Matrix part = zeros(m.shape(0), width);
  for (std::size_t i = 0; i < m.shape(0); ++i) {
    for (std::size_t j = 0; j < width; ++j) part(i, j) = m(i, j * n_heads + head);
  }
  return part;
}

/// Neighbouring columns as well, but from a wrong one on.
/// @param begin  where a head's columns begin: a function of the head, its width and n_heads
template <class Begin>
auto columns_beginning_at(const Begin& begin) {
  return [begin](const Matrix& m, std::size_t head, std::size_t n_heads) {
    const std::size_t width = m.shape(1) / n_heads;
    const std::size_t first = std::min(begin(head, width, n_heads), m.shape(1) - width);
    Matrix part = zeros(m.shape(0), width);
    for (std::size_t i = 0; i < m.shape(0); ++i) {
      for (std::size_t j = 0; j < width; ++j) part(i, j) = m(i, first + j);
    }
    return part;
  };
}

/// The right way to join them.
Matrix side_by_side(const Matrices& parts) {
  const std::size_t width = parts[0].shape(1);
  Matrix whole = zeros(parts[0].shape(0), parts.size() * width);
  for (std::size_t i = 0; i < whole.shape(0); ++i) {
    for (std::size_t j = 0; j < whole.shape(1); ++j) whole(i, j) = parts[j / width](i, j % width);
  }
  return whole;
}

/// The elements of (n_heads, T, width) taken as if they were (T, n_heads · width).
Matrix merge_by_reshaping(const Matrices& parts) {
  const std::size_t rows = parts[0].shape(0);
  const std::size_t width = parts[0].shape(1);
  Matrix whole = zeros(rows, parts.size() * width);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < whole.shape(1); ++j) {
      const std::size_t n = i * whole.shape(1) + j;
      whole(i, j) = parts[n / (rows * width)](n / width % rows, n % width);
    }
  }
  return whole;
}

Matrix column_by_column(const Matrices& parts) {
  const std::size_t n = parts.size();
  Matrix whole = zeros(parts[0].shape(0), n * parts[0].shape(1));
  for (std::size_t i = 0; i < whole.shape(0); ++i) {
    for (std::size_t j = 0; j < whole.shape(1); ++j) whole(i, j) = parts[j % n](i, j / n);
  }
  return whole;
}

Matrix added_up(const Matrices& parts) {
  Matrix sum = parts[0];
  for (std::size_t h = 1; h < parts.size(); ++h) {
    for (std::size_t i = 0; i < sum.shape(0); ++i) {
      for (std::size_t j = 0; j < sum.shape(1); ++j) sum(i, j) += parts[h](i, j);
    }
  }
  return sum;
}

Matrix mean_of(const Matrices& parts) {
  return reference::divided(added_up(parts), static_cast<double>(parts.size()));
}

Matrix in_reverse(const Matrices& parts) {
  return side_by_side(Matrices(parts.rbegin(), parts.rend()));
}

// --- attention with several heads, as slow loops, right or wrong ---------------------------------

/// How the heads are made; by default, the right way.
struct Way {
  std::function<Matrix(const Matrix&, std::size_t, std::size_t)> split = columns_of;
  std::function<Matrix(const Matrices&)> merge = side_by_side;
  double divisor = 0;  // 0: the square root of one head's width
  std::function<bool(std::size_t)> masked = [](std::size_t) { return true; };
  std::function<std::size_t(std::size_t)> keys_of = [](std::size_t head) { return head; };
  std::function<std::size_t(std::size_t)> values_of = [](std::size_t head) { return head; };
};

Matrix sum_of(const Matrix& a, const Matrix& b) {
  return added_up({a, b});
}

Matrix weights_of(const Example& e, std::size_t head, const Way& way = {}) {
  const std::size_t n = e.attention.n_heads;
  const Matrix queries =
      way.split(reference::product(e.queries_from, e.attention.W_query), head, n);
  const Matrix keys =
      way.split(reference::product(e.memory, e.attention.W_key), way.keys_of(head), n);
  const double root = std::sqrt(static_cast<double>(keys.shape(1)));
  const Matrix scaled = reference::divided(reference::dot_products(queries, keys),
                                           way.divisor == 0 ? root : way.divisor);
  return reference::softmax(way.masked(head) ? sum_of(scaled, e.mask) : scaled);
}

Matrix values_of(const Example& e, std::size_t head, const Way& way = {}) {
  const Matrix values = reference::product(e.memory, e.attention.W_value);
  return way.split(values, way.values_of(head), e.attention.n_heads);
}

Matrices contexts_of(const Example& e, const Way& way = {}) {
  Matrices contexts;
  for (std::size_t h = 0; h < e.attention.n_heads; ++h) {
    contexts.push_back(reference::product(weights_of(e, h, way), values_of(e, h, way)));
  }
  return contexts;
}

Matrix context_of(const Example& e, const Way& way = {}) {
  return way.merge(contexts_of(e, way));
}

/// What comes out when a head gets only a part of the input's columns.
Matrix context_of_divided_input(Example e) {
  const std::size_t d_in = e.queries_from.shape(1);
  for (Matrix* W : {&e.attention.W_query, &e.attention.W_key, &e.attention.W_value}) {
    const std::size_t width = W->shape(1) / e.attention.n_heads;
    for (std::size_t i = 0; i < d_in; ++i) {
      for (std::size_t j = 0; j < W->shape(1); ++j) {
        if (i * e.attention.n_heads / d_in != j / width) (*W)(i, j) = 0;
      }
    }
  }
  return context_of(e);
}

/// All heads sum by one weighting, the mean of theirs.
Matrix context_of_mean_weights(const Example& e) {
  Matrices weights;
  for (std::size_t h = 0; h < e.attention.n_heads; ++h) weights.push_back(weights_of(e, h));
  return reference::product(mean_of(weights), reference::product(e.memory, e.attention.W_value));
}

Example with_roles_swapped(Example e) {
  std::swap(e.queries_from, e.memory);
  e.mask = reference::transposed(e.mask);
  return e;
}

Example self_attention_of(Example e) {
  e.memory = e.queries_from;
  e.mask = zeros(e.queries_from.shape(0), e.queries_from.shape(0));
  return e;
}

/// Which bugs with the heads a matrix may come from: `result` computes what each would give, when
/// something is wrong.
MatrixMatcher explained(const Example& e, const std::function<Matrix(const Way&)>& result) {
  const std::size_t n = e.attention.n_heads;
  const auto width_of = [n](const Matrix& W) { return static_cast<double>(W.shape(1) / n); };
  const auto all_keys = static_cast<double>(e.attention.W_key.shape(1));
  const auto all_values = static_cast<double>(e.attention.W_value.shape(1));
  auto matcher = equals(result({}));
  const auto unless = [&](const char* bug, const Way& way) {
    matcher.unless(bug, [result, way] { return result(way); });
  };
  unless(
      "the heads were split by reshaping without transposing: (T, heads · head_dim) was taken as "
      "(heads, T, head_dim), so a head mixes tokens",
      {.split = split_by_reshaping});
  unless("a head takes every n-th column, not neighbouring columns", {.split = every_nth_column});
  unless(
      "the scores are divided by √d_out, the width of all heads; d_k is the width of one head's "
      "keys, √head_dim",
      {.divisor = std::sqrt(all_keys)});
  unless("the scores are divided by √d_out, the width of all values, not by √head_dim",
         {.divisor = std::sqrt(all_values)});
  unless("the scores aren't divided by √head_dim", {.divisor = 1});
  unless("the scores are divided by head_dim, not by its square root",
         {.divisor = width_of(e.attention.W_key)});
  unless("the scores are divided by √d_in, not by √head_dim",
         {.divisor = std::sqrt(static_cast<double>(e.queries_from.shape(1)))});
  unless(
      "the scores are divided by the square root of the width of one head's values, not of its "
      "keys",
      {.divisor = std::sqrt(width_of(e.attention.W_value))});
  unless("the scores are divided by √n_heads, not by √head_dim",
         {.divisor = std::sqrt(static_cast<double>(n))});
  unless("the scores are divided by √T_k, not by √head_dim",
         {.divisor = std::sqrt(static_cast<double>(e.memory.shape(0)))});
  unless("the scores are divided by √T_q, not by √head_dim",
         {.divisor = std::sqrt(static_cast<double>(e.queries_from.shape(0)))});
  unless("all heads use the keys of the first", {.keys_of = [](std::size_t) { return 0; }});
  unless("all heads sum the values of the first", {.values_of = [](std::size_t) { return 0; }});
  unless("a head sums the values of the next head",
         {.values_of = [n](std::size_t h) { return (h + 1) % n; }});
  unless(
      "the columns of head h begin at column h, so heads overlap; they begin at h · head_dim",
      {.split = columns_beginning_at([](std::size_t h, std::size_t, std::size_t) { return h; })});
  unless("the columns of head h begin at h · n_heads; they begin at h · head_dim",
         {.split = columns_beginning_at(
              [](std::size_t h, std::size_t, std::size_t n_heads) { return h * n_heads; })});
  unless("the queries of a head meet the keys of another",
         {.keys_of = [n](std::size_t h) { return n - 1 - h; }});
  unless("the mask reaches only the first head", {.masked = [](std::size_t h) { return h == 0; }});
  unless("the mask reaches no head", {.masked = [](std::size_t) { return false; }});
  unless("the mask reaches only the last head",
         {.masked = [n](std::size_t h) { return h + 1 == n; }});
  unless("the mask misses the first head", {.masked = [](std::size_t h) { return h != 0; }});
  unless("the mask misses the last head", {.masked = [n](std::size_t h) { return h + 1 != n; }});
  return matcher;
}

MatrixMatcher are_the_weights_of_head(const Example& e, std::size_t head) {
  auto matcher = explained(e, [&e, head](const Way& way) { return weights_of(e, head, way); });
  const auto unless = [&](const char* bug, const std::function<Matrix()>& wrong) {
    matcher.unless(bug, wrong);
  };
  unless("the keys come from the query sequence",
         [&e, head] { return weights_of(self_attention_of(e), head); });
  unless("these are the weights of head 1", [&e] { return weights_of(e, 0); });
  unless("these are the weights of the next head",
         [&e, head] { return weights_of(e, (head + 1) % e.attention.n_heads); });
  unless("the causal mask is still on: no token of the memory is the future", [&e, head] {
    Example causal = e;
    causal.mask = hide_what_follows(e.mask.shape(0), e.mask.shape(1));
    return weights_of(causal, head);
  });
  return matcher;
}

MatrixMatcher is_the_context_of(const Example& e) {
  auto matcher = explained(e, [&e](const Way& way) { return context_of(e, way); });
  const auto unless = [&](const char* bug, const std::function<Matrix()>& wrong) {
    matcher.unless(bug, wrong);
  };
  const auto unless_way = [&](const char* bug, const Way& way) {
    matcher.unless(bug, [&e, way] { return context_of(e, way); });
  };
  unless_way(
      "the heads were merged by reshaping without transposing: (heads, T, head_dim) was taken as "
      "(T, heads · head_dim)",
      {.merge = merge_by_reshaping});
  unless_way("the heads were split and merged by reshaping without transposing",
             {.split = split_by_reshaping, .merge = merge_by_reshaping});
  unless_way("the heads' columns are interleaved: first all first columns",
             {.merge = column_by_column});
  unless_way("the contexts of the heads are added up, not side by side", {.merge = added_up});
  unless_way("the contexts of the heads are averaged, not side by side", {.merge = mean_of});
  unless_way("the heads are in reverse order", {.merge = in_reverse});
  unless("this is the output: the context is recorded after W_out",
         [&e] { return reference::product(context_of(e), e.attention.W_out); });
  unless("every head sums by the average of all heads' weights",
         [&e] { return context_of_mean_weights(e); });
  unless("a head gets only a part of the input's columns",
         [&e] { return context_of_divided_input(e); });
  unless("the query sequence and the memory are exchanged",
         [&e] { return context_of(with_roles_swapped(e)); });
  unless("keys and values come from the query sequence",
         [&e] { return context_of(self_attention_of(e)); });
  return matcher;
}

MatrixMatcher is_the_output_of(const Example& e) {
  const Matrix& W_out = e.attention.W_out;
  const Matrix context = context_of(e);
  auto matcher = equals(reference::product(context, W_out));
  matcher.unless("there is no W_out: this is the context", context);
  if (W_out.shape(0) == W_out.shape(1)) {
    matcher.unless("W_out is used transposed",
                   reference::product(context, reference::transposed(W_out)));
    matcher.unless("the context is added to the output",
                   sum_of(context, reference::product(context, W_out)));
    matcher.unless("W_out is applied twice",
                   reference::product(reference::product(context, W_out), W_out));
  }
  const Matrices parts = contexts_of(e);
  for (std::size_t h = 0; h < parts.size(); ++h) {
    Matrices alone(parts.size(), zeros(parts[0].shape(0), parts[0].shape(1)));
    alone[h] = parts[h];
    matcher.unless("only one head gets through W_out: head " + std::to_string(h + 1),
                   reference::product(side_by_side(alone), W_out));
  }
  return matcher;
}

// --- small helpers of single tests ---------------------------------------------------------------

/// Adds something different to each entry of some columns of a matrix.
void disturb_columns(Matrix& m, std::size_t begin, std::size_t end) {
  for (std::size_t i = 0; i < m.shape(0); ++i) {
    for (std::size_t j = begin; j < end; ++j) m(i, j) += Real(1) + Real(i) / 2 - Real(j % 3) / 4;
  }
}

void disturb_head(Matrix& W, std::size_t head, std::size_t n_heads) {
  const std::size_t width = W.shape(1) / n_heads;
  disturb_columns(W, head * width, (head + 1) * width);
}

Matrix column_of(const Matrix& m, std::size_t j) {
  return columns_of(m, j, m.shape(1));
}

std::string heads_named(const std::vector<std::size_t>& heads, const std::string& what) {
  std::string text;
  for (const std::size_t head : heads) {
    text += (text.empty() ? what : " and") + (" head " + std::to_string(head + 1));
  }
  return text;
}

/// Names the heads that give weight to what the mask hides; empty when there is none.
std::string heads_without_mask(const MultiHeadTrace& trace, const Matrix& mask) {
  std::vector<std::size_t> bad;
  for (std::size_t h = 0; h < trace.heads.size(); ++h) {
    bool attends = false;
    for (std::size_t i = 0; i < mask.shape(0); ++i) {
      for (std::size_t j = 0; j < mask.shape(1); ++j) {
        const Trace& head = trace.heads[h];
        attends = attends || (mask(i, j) < 0 &&
                              (head.weights(i, j) != 0 || head.weights_after_dropout(i, j) != 0));
      }
    }
    if (attends) bad.push_back(h);
  }
  return heads_named(bad, "the mask does not reach");
}

/// Names the heads whose context differs in a row; empty when every bit is the same.
std::string heads_that_moved(const Matrix& before, const Matrix& after, std::size_t row,
                             std::size_t n_heads) {
  std::vector<std::size_t> moved;
  for (std::size_t h = 0; h < n_heads; ++h) {
    const Matrix old_row = row_of(columns_of(before, h, n_heads), row);
    const Matrix new_row = row_of(columns_of(after, h, n_heads), row);
    if (!identical(old_row, new_row)) moved.push_back(h);
  }
  return heads_named(moved, "a hidden token changes");
}

/// Names the heads whose context is what it was; empty when all have moved.
std::string heads_that_stayed(const Matrix& before, const Matrix& after, std::size_t n_heads) {
  std::vector<std::size_t> stayed;
  for (std::size_t h = 0; h < n_heads; ++h) {
    if (same(columns_of(before, h, n_heads), columns_of(after, h, n_heads))) stayed.push_back(h);
  }
  return heads_named(stayed, "this changes nothing in");
}

std::size_t parameters(const Attention& a) {
  return a.W_query.size() + a.W_key.size() + a.W_value.size() + a.W_out.size();
}

/// Counted from the tensors of the trace: a product of (n, k) and (k, m) takes n · k · m.
std::size_t multiplications(const Attention& a, const MultiHeadTrace& trace, std::size_t T_q,
                            std::size_t T_k) {
  std::size_t count =
      T_q * a.W_query.size() + T_k * (a.W_key.size() + a.W_value.size()) + T_q * a.W_out.size();
  for (const Trace& head : trace.heads) {
    count += head.weights.size() * (head.keys.shape(1) + head.values.shape(1));
  }
  return count;
}

/// Tokens that encode their position and a content: [one-hot position | content].
struct Positioned {
  static constexpr std::size_t T = 4;
  Matrix content = {{1, 0}, {0, 2}, {3, 1}, {5, -1}};

  Matrix tokens() const {
    Matrix X = zeros(T, T + 2);
    for (std::size_t i = 0; i < T; ++i) {
      X(i, i) = 1;
      X(i, T) = content(i, 0);
      X(i, T + 1) = content(i, 1);
    }
    return X;
  }
};

/// Columns of W_query by which each token looks for the position that `wanted` names.
void look_for(Matrix& W_query, std::size_t first_column,
              const std::function<std::size_t(std::size_t)>& wanted) {
  for (std::size_t i = 0; i < Positioned::T; ++i) W_query(i, first_column + wanted(i)) += 60;
}

std::size_t token_before(std::size_t i) {
  return i == 0 ? 0 : i - 1;
}

std::size_t token_after(std::size_t i) {
  return std::min(i + 1, Positioned::T - 1);
}

/// Heads whose keys are positions and whose values are contents.
Attention heads_by_position(std::size_t n_heads) {
  Generator unused(0);
  Attention attention(1, n_heads, n_heads, unused);
  attention.W_query = zeros(Positioned::T + 2, n_heads * Positioned::T);
  attention.W_key = zeros(Positioned::T + 2, n_heads * Positioned::T);
  attention.W_value = zeros(Positioned::T + 2, n_heads * 2);
  attention.W_out = identity(n_heads * 2);
  for (std::size_t h = 0; h < n_heads; ++h) {
    for (std::size_t i = 0; i < Positioned::T; ++i) attention.W_key(i, h * Positioned::T + i) = 1;
    for (std::size_t j = 0; j < 2; ++j) attention.W_value(Positioned::T + j, h * 2 + j) = 1;
  }
  return attention;
}

/// The attention of one query over two keys, with these weights up to rounding.
Trace attend_with_weights(double first, double second, const Matrix& values) {
  const Matrix keys = decimals({{std::log(first)}, {std::log(second)}});
  return attend(Matrix({{1}}), keys, values, zeros(1, 2));
}

/// The context of two one-hot values, `first` and `second` out of five.
Matrix context_of_pair(std::size_t first, std::size_t second, double weight) {
  Matrix values = zeros(2, 5);
  values(0, first) = 1;
  values(1, second) = 1;
  return attend_with_weights(weight, 1 - weight, values).context;
}

std::size_t different_contexts(double weight) {
  Matrices different;
  for (std::size_t first = 0; first < 5; ++first) {
    for (std::size_t second = 0; second < 5; ++second) {
      const Matrix context = context_of_pair(first, second, weight);
      const auto is_known = [&](const Matrix& known) { return same(known, context); };
      if (std::none_of(different.begin(), different.end(), is_known)) different.push_back(context);
    }
  }
  return different.size();
}

double distance(const Matrix& a, const Matrix& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    sum += std::pow(static_cast<double>(a.flat(n)) - static_cast<double>(b.flat(n)), 2);
  }
  return std::sqrt(sum);
}

/// Whether the call is rejected with a sentence that has both numbers.
template <class Call>
bool rejected_with(const Call& call, const std::string& number, const std::string& heads) {
  const std::string message = message_of(call);
  return message.find(number) != std::string::npos && message.find(heads) != std::string::npos;
}

}  // namespace

TEST_CASE("each head compares its own columns of queries and keys over √head_dim", "[A16]") {
  const HeadSizes sizes = GENERATE(from_range(head_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  const MultiHeadTrace trace = e.trace();
  const Matrix queries = reference::product(e.queries_from, e.attention.W_query);
  const Matrix keys = reference::product(e.memory, e.attention.W_key);
  const Matrix values = reference::product(e.memory, e.attention.W_value);
  REQUIRE(trace.heads.size() == sizes.n_heads);
  for (std::size_t h = 0; h < sizes.n_heads; ++h) {
    INFO("head " << h + 1 << " of " << sizes.n_heads);
    const Trace& head = trace.heads[h];
    const auto own = [&](const Matrix& all) { return columns_of(all, h, sizes.n_heads); };
    CHECK_THAT(head.weights, are_the_weights_of_head(e, h));
    CHECK_THAT(head.weights_after_dropout, are_the_weights_of_head(e, h));
    CHECK_THAT(head.queries, equals(own(queries)).unless("these are the keys", own(keys)));
    CHECK_THAT(head.keys, equals(own(keys)).unless("these are the queries", own(queries)));
    CHECK_THAT(head.values, equals(own(values)));
    const shared::Inputs inputs{own(queries), own(keys), own(values), e.mask};
    shared::check_scores(head, inputs);
    shared::check_masked(head, inputs);
  }
}

TEST_CASE("the context is the contexts of the heads side by side", "[A16]") {
  const HeadSizes sizes = GENERATE(from_range(head_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  const MultiHeadTrace trace = e.trace();
  CHECK_THAT(trace.context, is_the_context_of(e));
  const Matrices contexts = contexts_of(e);
  REQUIRE(trace.heads.size() == sizes.n_heads);
  for (std::size_t h = 0; h < sizes.n_heads; ++h) {
    INFO("head " << h + 1 << " of " << sizes.n_heads);
    CHECK_THAT(trace.heads[h].context, equals(contexts[h]));
  }
}

TEST_CASE("the output is the context times W_out", "[A17]") {
  HeadSizes sizes = GENERATE(from_range(head_sizes()));
  const bool square = GENERATE(false, true);
  if (square) sizes.d_final = sizes.n_heads * sizes.value_width;
  INFO(sizes);
  const Example e = random_example(sizes);
  CHECK_THAT(e.trace().output, is_the_output_of(e));
}

TEST_CASE("the output is the sum of each head's context times its rows of W_out", "[A17]") {
  const HeadSizes sizes = GENERATE(from_range(head_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  const Matrices contexts = contexts_of(e);
  Matrices parts;
  for (std::size_t h = 0; h < sizes.n_heads; ++h) {
    Matrix own_rows = zeros(sizes.value_width, sizes.d_final);
    for (std::size_t i = 0; i < sizes.value_width; ++i) {
      for (std::size_t j = 0; j < sizes.d_final; ++j) {
        own_rows(i, j) = e.attention.W_out(h * sizes.value_width + i, j);
      }
    }
    parts.push_back(reference::product(contexts[h], own_rows));
  }
  CHECK_THAT(e.trace().output, equals(added_up(parts)));
}

TEST_CASE("a loop over single heads gives the same as wide weights cut into columns", "[A16]") {
  const HeadSizes sizes = GENERATE(from_range(head_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  const MultiHeadTrace trace = e.trace();
  Generator unused(0);
  Matrices contexts;
  REQUIRE(trace.heads.size() == sizes.n_heads);
  for (std::size_t h = 0; h < sizes.n_heads; ++h) {
    chapter_05::Attention single(1, 1, unused);
    single.W_query = columns_of(e.attention.W_query, h, sizes.n_heads);
    single.W_key = columns_of(e.attention.W_key, h, sizes.n_heads);
    single.W_value = columns_of(e.attention.W_value, h, sizes.n_heads);
    const chapter_05::Trace alone = single.forward(e.queries_from, e.memory, e.mask);
    INFO("head " << h + 1 << " of " << sizes.n_heads);
    CHECK_THAT(trace.heads[h].weights, equals(alone.weights));
    contexts.push_back(alone.context);
  }
  CHECK_THAT(trace.context, equals(side_by_side(contexts)));
}

TEST_CASE("one head with nothing to mix is chapter 05 and without a mask chapter 03", "[B11]") {
  HeadSizes sizes = GENERATE(from_range(head_sizes()));
  sizes.n_heads = 1;
  INFO(sizes);
  Example e = random_example(sizes);
  CHECK_THAT(e.trace().output, is_the_output_of(e));
  e.attention.W_out = identity(sizes.value_width);
  Generator unused(0);
  chapter_05::Attention fifth(1, 1, unused);
  fifth.W_query = e.attention.W_query;
  fifth.W_key = e.attention.W_key;
  fifth.W_value = e.attention.W_value;
  CHECK_THAT(e.trace().output, equals(fifth.forward(e.queries_from, e.memory, e.mask).context));
  chapter_03::Attention third(1, 1, unused);
  third.W_query = e.attention.W_query;
  third.W_key = e.attention.W_key;
  third.W_value = e.attention.W_value;
  CHECK_THAT(self_attention_of(e).trace().output, equals(third.forward(e.queries_from).context));
}

TEST_CASE("seed 42 gives two heads their four columns of context", "[B11]") {
  Generator generator(42);
  Matrices W_query;
  Matrices W_key;
  Matrices W_value;
  for (std::size_t h = 0; h < 2; ++h) {  // all of one head, then all of the next
    W_query.push_back(linear_weights(2, 2, generator));
    W_key.push_back(linear_weights(2, 2, generator));
    W_value.push_back(linear_weights(2, 2, generator));
  }
  Attention attention(2, 4, 2, generator);
  attention.W_query = side_by_side(W_query);
  attention.W_key = side_by_side(W_key);
  attention.W_value = side_by_side(W_value);
  const Matrix X = embed(split_words("draw a map"), 2, true).X;
  const Example e = {attention, X, X, zeros(3, 3)};
  CHECK_THAT(e.trace().context, is_the_context_of(e));
  CHECK_THAT(rounded(e.trace().context), equals(decimals({{1.0100, 1.0641, -.7081, -.8268},
                                                          {.2040, .7057, -.7417, -.9193},
                                                          {3.4989, 2.2427, -.7190, -.8447}})));
}

TEST_CASE("W_out is drawn last and is d_out by d_out") {
  for (const std::size_t n_heads : {1U, 3U, 12U}) {
    Generator generator(7);
    const Attention attention(5, 12, n_heads, generator);
    Generator again(7);
    for (int projection = 0; projection < 3; ++projection) linear_weights(5, 12, again);
    INFO(n_heads << " heads");
    const auto draw_first = [&](std::size_t rows, std::size_t columns) {
      Generator start(7);
      return linear_weights(rows, columns, start);
    };
    CHECK_THAT(attention.W_out,
               equals(linear_weights(12, 12, again))
                   .unless("W_out is drawn first, before the projections", draw_first(12, 12))
                   .unless("W_out is as wide as the input, d_in, not d_out", matrix(12, 5)));
    CHECK(attention.n_heads == n_heads);
  }
}

TEST_CASE("d_out is divided among the heads and not multiplied by them", "[A16]") {
  Generator generator(8);
  const Attention attention(5, 12, 3, generator);
  const Matrix X = normal_matrix(4, 5, generator);
  const MultiHeadTrace trace = attention.forward(X, X, zeros(4, 4));
  REQUIRE(trace.heads.size() == 3);
  for (const Trace& head : trace.heads) CHECK(shape_text(head.context) == "(4, 4)");
  CHECK(shape_text(trace.context) == "(4, 12)");
  CHECK(shape_text(trace.output) == "(4, 12)");
}

TEST_CASE("a head's weights reach its own columns of the context and no others", "[A16]") {
  const Example e = unmasked_example();
  const std::size_t n = e.attention.n_heads;
  const Matrix before = e.trace().context;
  for (const auto W : {&Attention::W_query, &Attention::W_key, &Attention::W_value}) {
    for (std::size_t changed = 0; changed < n; ++changed) {
      Example other = e;
      disturb_head(other.attention.*W, changed, n);
      const Matrix after = other.trace().context;
      for (std::size_t h = 0; h < n; ++h) {
        INFO("head " << changed + 1 << " got other weights; these are the columns of head "
                     << h + 1);
        const bool kept_every_bit = identical(columns_of(before, h, n), columns_of(after, h, n));
        CHECK(kept_every_bit == (h != changed));
      }
    }
  }
}

TEST_CASE("every column of the output draws on every head", "[A17]") {
  const Example e = unmasked_example();
  const Matrix before = e.trace().output;
  for (std::size_t changed = 0; changed < e.attention.n_heads; ++changed) {
    Example other = e;
    disturb_head(other.attention.W_value, changed, e.attention.n_heads);
    const Matrix after = other.trace().output;
    for (std::size_t j = 0; j < before.shape(1); ++j) {
      INFO("column " << j + 1 << " of the output doesn't draw on head " << changed + 1);
      CHECK_FALSE(same(column_of(before, j), column_of(after, j)));
    }
  }
}

TEST_CASE("without W_out every column of the output draws on one head only", "[A17]") {
  Example e = unmasked_example();
  const std::size_t n = e.attention.n_heads;
  e.attention.W_out = identity(e.attention.W_value.shape(1));
  const Matrix before = e.trace().output;
  for (std::size_t changed = 0; changed < n; ++changed) {
    Example other = e;
    disturb_head(other.attention.W_value, changed, n);
    const Matrix after = other.trace().output;
    for (std::size_t h = 0; h < n; ++h) {
      INFO("W_out is the identity; head " << changed + 1
                                          << " has changed, these are the columns of "
                                          << "head " << h + 1);
      CHECK(same(columns_of(before, h, n), columns_of(after, h, n)) == (h != changed));
    }
  }
}

TEST_CASE("every head depends on every column and every token of the input", "[A16]") {
  const Example e = unmasked_example();
  const std::size_t n = e.attention.n_heads;
  const Matrix before = e.trace().context;
  for (std::size_t column = 0; column < e.queries_from.shape(1); ++column) {
    INFO("column " << column + 1 << " of the input has changed");
    Example other = e;
    disturb_columns(other.queries_from, column, column + 1);
    CHECK(heads_that_stayed(before, other.trace().context, n) == "");
    other = e;
    disturb_columns(other.memory, column, column + 1);
    CHECK(heads_that_stayed(before, other.trace().context, n) == "");
  }
  for (std::size_t token = 0; token < e.memory.shape(0); ++token) {
    INFO("token " << token + 1 << " of the memory has changed");
    Example other = e;
    for (std::size_t j = 0; j < e.memory.shape(1); ++j) other.memory(token, j) += Real(j + 1);
    CHECK(heads_that_stayed(before, other.trace().context, n) == "");
  }
}

TEST_CASE("the mask reaches every head", "[B13]") {
  for (const std::size_t n_heads : {1U, 2U, 3U, 5U, 12U}) {
    for (const std::size_t T : {4U, 40U}) {
      Example e = random_example({T, T, 7, n_heads, 3, 2, 6, 13});
      e.mask = causal_mask(T);
      {
        INFO(n_heads << " heads over " << T << " tokens under a causal mask");
        CHECK(heads_without_mask(e.trace(), hide_what_follows(T, T)) == "");
        if (T == 4) CHECK_THAT(e.trace().context, is_the_context_of(e));
      }
      Generator generator(14);
      e.memory = normal_matrix(T + 2, 7, generator);
      std::vector<bool> present(T + 2, true);
      present[1] = present[T] = present[T + 1] = false;
      e.mask = padding_mask(T, present);
      INFO(n_heads << " heads under a padding mask that hides three of " << T + 2 << " tokens");
      CHECK(heads_without_mask(e.trace(), e.mask) == "");
      if (T == 4) CHECK_THAT(e.trace().context, is_the_context_of(e));
    }
  }
}

TEST_CASE("a hidden token changes no bit of any head", "[B13]") {
  for (const std::size_t T : {5U, 35U}) {
    Example e = random_example({T, T, 7, 4, 3, 2, 8, 15});
    e.attention.W_out = identity(8);  // the output is the context: no head can be wrong unseen
    const std::size_t n = e.attention.n_heads;
    for (std::size_t token = 1; token < T; token += T / 5) {
      Example other = e;
      for (std::size_t j = 0; j < 7; ++j) other.memory(token, j) -= Real(j) + 1;
      {
        INFO("token " << token + 1 << " of " << T << " has changed, under a causal mask");
        e.mask = other.mask = causal_mask(T);
        const Matrix before = e.trace().output;
        const Matrix after = other.trace().output;
        for (std::size_t row = 0; row < token; ++row) {
          INFO("row " << row + 1 << " of the output");
          CHECK(heads_that_moved(before, after, row, n) == "");
        }
      }
      INFO("token " << token + 1 << " of " << T
                    << " has changed, under a mask that hides it alone");
      std::vector<bool> present(T, true);
      present[token] = false;
      e.mask = other.mask = padding_mask(T, present);
      const Matrix before = e.trace().output;
      const Matrix after = other.trace().output;
      for (std::size_t row = 0; row < T; ++row) {
        INFO("row " << row + 1 << " of the output");
        CHECK(heads_that_moved(before, after, row, n) == "");
      }
    }
  }
}

TEST_CASE("a fully masked row is zeros in every head", "[B13]") {
  Example e = unmasked_example();
  e.mask = padding_mask(4, std::vector<bool>(6, false));
  const MultiHeadTrace trace = e.trace();
  for (std::size_t h = 0; h < trace.heads.size(); ++h) {
    INFO("head " << h + 1 << ": " << shared::wrong_when_fully_masked(trace.heads[h].weights));
    CHECK(shared::all_zero(trace.heads[h].weights));
  }
  CHECK(shared::all_zero(trace.context));
  CHECK(shared::all_zero(trace.output));
}

TEST_CASE("dropout reaches every head with its own dropout mask") {
  Example e = random_example({60, 80, 7, 3, 4, 2, 6, 16});
  e.mask = zeros(60, 80);
  Generator generator(17);
  const double p = 0.25;
  const MultiHeadTrace trace =
      e.attention.forward(e.queries_from, e.memory, e.mask, Training{Real(p), generator});
  REQUIRE(trace.heads.size() == 3);
  const double draws = 60 * 80;
  Matrices contexts;
  for (std::size_t h = 0; h < 3; ++h) {
    const Matrix& after = trace.heads[h].weights_after_dropout;
    CHECK_THAT(trace.heads[h].weights, are_the_weights_of_head(e, h));
    const double dropped = shared::dropped_together(after, after);
    {
      INFO("head " << h + 1 << " drops " << dropped << " of its weights, for a probability of "
                   << p);
      CHECK_THAT(dropped, WithinAbs(p, 5 * std::sqrt(p * (1 - p) / draws)));
    }
    CHECK(shared::wrong_factors(after, weights_of(e, h), p) == "");
    contexts.push_back(reference::product(after, values_of(e, h)));
    const std::size_t next = (h + 1) % 3;
    const double both = shared::dropped_together(after, trace.heads[next].weights_after_dropout);
    INFO("heads " << h + 1 << " and " << next + 1 << " drop the same weights in " << both
                  << " of all places; two independent dropout masks do in " << p * p);
    CHECK_THAT(both, WithinAbs(p * p, 5 * std::sqrt(p * p * (1 - p * p) / draws)));
  }
  CHECK_THAT(trace.context, equals(side_by_side(contexts))
                                .unless("the context sums the values by the weights before dropout",
                                        context_of(e)));
  CHECK_THAT(trace.output, equals(reference::product(side_by_side(contexts), e.attention.W_out)));
}

TEST_CASE("at inference nothing is dropped in any head") {
  const Example e = unmasked_example();
  const MultiHeadTrace trace = e.trace();
  for (const Trace& head : trace.heads) {
    CHECK(identical(head.weights, head.weights_after_dropout));
  }
  CHECK_THAT(trace.output, is_the_output_of(e));
  Generator generator(18);
  const auto run = [&](Real p) {
    return e.attention.forward(e.queries_from, e.memory, e.mask, Training{p, generator});
  };
  INFO("the same while training, with dropout probabilities of 0 and 1");
  CHECK_THAT(run(0).output, is_the_output_of(e));
  CHECK_THAT(run(1).output, equals(zeros(4, 8)));
}

TEST_CASE("an output projection of d_in columns brings the width back", "[B12]") {
  const HeadSizes sizes = {3, 5, 2, 3, 4, 6, 2, 19};  // 2 columns in, 18 of context, 2 out
  const Example e = random_example(sizes);
  CHECK(shape_text(e.trace().context) == "(3, 18)");
  CHECK_THAT(e.trace().output, is_the_output_of(e));
  CHECK(shape_text(e.trace().output) == "(3, 2)");
}

TEST_CASE("one column of values a head brings the width back", "[B12]") {
  const HeadSizes sizes = {3, 6, 4, 4, 5, 1, 7, 20};  // 4 columns in, 4 heads of one column
  const Example e = random_example(sizes);
  CHECK(shape_text(e.trace().context) == "(3, 4)");
  CHECK_THAT(e.trace().context, is_the_context_of(e));
}

TEST_CASE("the widths of keys and values and output are free", "[B12]") {
  for (const std::size_t key_width : {1U, 4U}) {
    for (const std::size_t value_width : {2U, 7U}) {
      const HeadSizes sizes = {2, 5, 3, 3, key_width, value_width, 11, 21};
      INFO(sizes);
      const Example e = random_example(sizes);
      CHECK_THAT(e.trace().context, is_the_context_of(e));
      CHECK_THAT(e.trace().output, is_the_output_of(e));
    }
  }
}

TEST_CASE("the number of heads changes neither the parameters nor the multiplications", "[A16]") {
  constexpr std::size_t d_in = 24;
  constexpr std::size_t d_out = 12;
  Generator generator(22);
  const Matrix queries_from = normal_matrix(5, d_in, generator);
  const Matrix memory = normal_matrix(7, d_in, generator);
  for (const std::size_t n_heads : {1U, 2U, 3U, 4U, 6U, 12U}) {
    const Attention attention(d_in, d_out, n_heads, generator);
    const MultiHeadTrace trace = attention.forward(queries_from, memory, zeros(5, 7));
    INFO(n_heads << " heads");
    CHECK(trace.heads.size() == n_heads);
    CHECK(parameters(attention) == 3 * d_in * d_out + d_out * d_out);
    CHECK(multiplications(attention, trace, 5, 7) ==
          (5 + 7 + 7) * d_in * d_out + 5 * d_out * d_out + 2 * 5 * 7 * d_out);
  }
}

TEST_CASE("each head has its own exponentials and weights", "[A16]") {
  Generator generator(25);
  const Matrix X = normal_matrix(6, 4, generator);
  for (const std::size_t n_heads : {1U, 2U, 3U, 6U}) {
    const MultiHeadTrace trace = Attention(4, 12, n_heads, generator).forward(X, X, zeros(6, 6));
    std::size_t weights = 0;
    for (const Trace& head : trace.heads) weights += head.weights.size();
    INFO(n_heads << " heads over six tokens");
    CHECK(weights == n_heads * 36);
  }
}

TEST_CASE("weights that don't fit the number of heads are rejected by forward as well") {
  const Example good = unmasked_example();  // five heads
  INFO("columns that can't be divided evenly among the heads were accepted by forward");
  for (const auto W : {&Attention::W_query, &Attention::W_key, &Attention::W_value}) {
    Example e = good;
    Generator generator(24);
    e.attention.*W = normal_matrix(7, 16, generator);
    if (W != &Attention::W_value) {  // both, so that the scores could be computed
      e.attention.W_query = e.attention.W_key = e.attention.*W;
    }
    CHECK(rejected_with([&e] { e.trace(); }, "16", " 5 heads"));
  }
  Example headless = good;
  headless.attention.n_heads = 0;
  CHECK(rejected_with([&headless] { headless.trace(); }, "", " 0 heads"));
}

TEST_CASE("columns that can't be divided evenly among the heads are rejected with both numbers") {
  Generator generator(23);
  {
    INFO("d_out that isn't a multiple of n_heads was accepted, or the message lacks a number");
    CHECK(rejected_with([&] { Attention(4, 10, 3, generator); }, "10", " 3 heads"));
    CHECK(rejected_with([&] { Attention(4, 2, 5, generator); }, "2 ", " 5 heads"));
    CHECK(rejected_with([&] { Attention(4, 10, 0, generator); }, "10", " 0 heads"));
  }
  INFO("head_columns accepted columns that can't be divided evenly, or its message lacks a number");
  const bool guarded = rejected_with([&] { head_columns(zeros(3, 8), 0, 3); }, "8", " 3 heads");
  CHECK(guarded);
  if (guarded) {  // or it might divide by zero
    CHECK(rejected_with([&] { head_columns(zeros(3, 8), 0, 0); }, "8", " 0 heads"));
  }
}

TEST_CASE("equal weights give the same context when two tokens exchange their values", "[C7]") {
  Attention attention = heads_by_position(1);
  look_for(attention.W_query, 0, token_before);
  look_for(attention.W_query, 0, token_after);
  const Matrix mask = zeros(Positioned::T, Positioned::T);
  const Positioned before;
  Positioned after;  // the contents of tokens 1 and 3, the neighbours of token 2, change places
  for (std::size_t j = 0; j < 2; ++j) std::swap(after.content(0, j), after.content(2, j));
  const Matrix X = before.tokens();
  const Matrix Y = after.tokens();
  const MultiHeadTrace one = attention.forward(X, X, mask);
  const MultiHeadTrace other = attention.forward(Y, Y, mask);
  CHECK_THAT(row_of(one.heads.at(0).weights, 1), equals({{Real(0.5), 0, Real(0.5), 0}}));
  CHECK_THAT(row_of(one.output, 1), equals(row_of(other.output, 1)));
}

TEST_CASE("two heads carry two relations at once", "[C7]") {
  Attention attention = heads_by_position(2);
  look_for(attention.W_query, 0, token_before);
  look_for(attention.W_query, Positioned::T, token_after);
  const Positioned positioned;
  const Matrix X = positioned.tokens();
  const MultiHeadTrace trace = attention.forward(X, X, zeros(Positioned::T, Positioned::T));
  Matrix wanted = zeros(Positioned::T, 4);
  for (std::size_t i = 0; i < Positioned::T; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      wanted(i, j) = positioned.content(token_before(i), j);
      wanted(i, 2 + j) = positioned.content(token_after(i), j);
    }
  }
  CHECK_THAT(trace.output, equals(wanted));
}

TEST_CASE("uneven weights tell 25 pairs of one-hot values apart and equal weights only 15",
          "[C7]") {
  CHECK(different_contexts(0.5) == 15);
  for (const double weight : {0.6, 0.7, 0.9}) {
    INFO("weights of " << weight << " and " << 1 - weight);
    CHECK(different_contexts(weight) == 25);
    INFO("the context moves by the weight times √2 when one value changes");
    const Matrix context = context_of_pair(0, 1, weight);
    CHECK_THAT(distance(context, context_of_pair(2, 1, weight)),
               WithinAbs(weight * std::sqrt(2.0), 10 * tolerance));
    CHECK_THAT(distance(context, context_of_pair(0, 2, weight)),
               WithinAbs((1 - weight) * std::sqrt(2.0), 10 * tolerance));
  }
}

TEST_CASE("in one head the weight that one relation gains the other loses", "[C7]") {
  const Matrix values = {{1, 0}, {0, 1}};
  const Matrix query = {{1}};
  Real last = 1;
  for (const Real score : {Real(-2), Real(-1), Real(0), Real(1), Real(3)}) {
    const Trace trace = attend(query, Matrix({{0}, {score}}), values, zeros(1, 2));
    INFO("the second key's score is " << score);
    CHECK(trace.weights(0, 0) < last);
    CHECK_THAT(trace.weights(0, 0) + trace.weights(0, 1), WithinRel(1, tolerance));
    last = trace.weights(0, 0);
  }
  Attention attention = heads_by_position(2);
  look_for(attention.W_query, 0, token_before);
  const Matrix X = Positioned().tokens();
  const Matrix mask = zeros(Positioned::T, Positioned::T);
  const Matrix before = attention.forward(X, X, mask).heads.at(0).weights;
  look_for(attention.W_query, Positioned::T, token_after);
  INFO("with two heads the first keeps every bit");
  CHECK(identical(attention.forward(X, X, mask).heads.at(0).weights, before));
}

TEST_CASE("any single weighting gives different values the same context", "[C7]") {
  const Matrix values = {{1, 0}, {0, 1}};
  for (const double weight : {0.5, 0.6, 0.7, 0.9}) {
    for (const double step : {1.0, -3.0}) {
      Matrix others = values;  // the first value moves, and the second makes up for it
      for (std::size_t j = 0; j < 2; ++j) {
        others(0, j) += static_cast<Real>((1 - weight) * step);
        others(1, j) -= static_cast<Real>(weight * step);
      }
      INFO("weights of " << weight << " and " << 1 - weight);
      CHECK_FALSE(same(others, values));
      CHECK_THAT(attend_with_weights(weight, 1 - weight, others).context,
                 equals(attend_with_weights(weight, 1 - weight, values).context));
    }
  }
}

TEST_CASE("the attention weights are computed for every sequence while the parameters stay",
          "[A18]") {
  const Example e = unmasked_example();
  Example other = e;
  disturb_columns(other.queries_from, 0, e.queries_from.shape(1));
  disturb_columns(other.memory, 0, 2);
  const MultiHeadTrace first = e.trace();
  const MultiHeadTrace second =
      other.attention.forward(other.queries_from, other.memory, other.mask);
  const MultiHeadTrace first_again = other.attention.forward(e.queries_from, e.memory, e.mask);
  REQUIRE(second.heads.size() == first.heads.size());
  for (std::size_t h = 0; h < first.heads.size(); ++h) {
    INFO("head " << h + 1);
    CHECK_FALSE(same(first.heads[h].weights, second.heads[h].weights));
    CHECK(identical(first.heads[h].weights, first_again.heads[h].weights));
  }
  CHECK(identical(first.output, first_again.output));
}

TEST_CASE("no context leaves the range of its column of values in any head", "[A11]") {
  const HeadSizes sizes = GENERATE(from_range(head_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes);
  const MultiHeadTrace trace = e.trace();
  CHECK(stays_in_range(trace.context, reference::product(e.memory, e.attention.W_value)));
  for (const Trace& head : trace.heads) {
    for (const Real sum : row_sums(head.weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  }
}

TEST_CASE("scores of thirty thousand become probabilities in every head and hidden ones stay 0") {
  Generator unused(0);
  Attention attention(1, 3, 3, unused);
  attention.W_query = {{200, -100, 3}};
  attention.W_key = {{1, 1, 1}};
  attention.W_value = {{1, 2, 3}};
  attention.W_out = identity(3);
  const Matrix queries_from = {{1}};
  const Matrix memory = {{-150}, {150}, {150}};
  const MultiHeadTrace unmasked = attention.forward(queries_from, memory, zeros(1, 3));
  CHECK_THAT(unmasked.output, equals({{150, -300, 450}}));
  const MultiHeadTrace masked =
      attention.forward(queries_from, memory, Matrix({{0, -infinity, -infinity}}));
  INFO("in head 1 the one visible token has a score of -30000");
  CHECK_THAT(masked.output, equals({{-150, -300, -450}}));
}

TEST_CASE("a non-finite entry and a mask of the wrong shape are rejected") {
  const Example good = unmasked_example();
  for (const Real entry : {std::numeric_limits<Real>::quiet_NaN(), infinity, -infinity}) {
    const std::string says = fmt::format("is {}", entry);
    Example e = good;
    e.queries_from(2, 1) = entry;
    CHECK_THAT(message_of([&e] { e.trace(); }), ContainsSubstring("queries_from(2, 1) " + says));
    e = good;
    e.memory(5, 3) = entry;
    CHECK_THAT(message_of([&e] { e.trace(); }), ContainsSubstring("memory(5, 3) " + says));
  }
  Example e = good;
  e.mask = zeros(6, 4);
  CHECK_THAT(message_of([&e] { e.trace(); }), ContainsSubstring("the mask is (6, 4)"));
  e = good;
  e.queries_from = zeros(4, 6);
  CHECK_THAT(message_of([&e] { e.trace(); }), ContainsSubstring("(4, 6)"));
}

TEST_CASE("without queries there are no rows of output and without keys they are zeros") {
  const Example e = unmasked_example();
  const Example no_keys = {e.attention, e.queries_from, zeros(0, 7), zeros(4, 0)};
  CHECK_THAT(no_keys.trace().output, equals(zeros(4, 8)));
  const Example no_queries = {e.attention, zeros(0, 7), e.memory, zeros(0, 6)};
  CHECK_THAT(no_queries.trace().output, equals(zeros(0, 8)));
}

TEST_CASE("PyTorch computes the same heads", "[A16][A17]") {
  for (const Golden& golden : Golden::load("06_multi_head")) {
    Example e = unmasked_example();
    e.attention.n_heads = static_cast<std::size_t>(golden["n_heads"](0, 0));
    e.attention.W_query = golden["W_query"];
    e.attention.W_key = golden["W_key"];
    e.attention.W_value = golden["W_value"];
    e.attention.W_out = golden["W_out"];
    e.queries_from = golden["queries_from"];
    e.memory = golden["memory"];
    e.mask = golden["hidden"];
    for (Real& entry : e.mask) entry = entry != 0 ? -infinity : 0;
    INFO(e.attention.n_heads << " heads");
    const MultiHeadTrace trace = e.trace();
    Matrices weights;
    for (const Trace& head : trace.heads) weights.push_back(head.weights);
    CHECK_THAT(mean_of(weights), equals(golden["weights"]));
    CHECK_THAT(trace.output, equals(golden["output"]));
  }
}
