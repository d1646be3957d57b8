/// @file
/// @brief What chapter 05 says about queries from one sequence and keys and values from another, as
/// tests.

#include <optional>

#include "common/random.hpp"
#include "common/tensor.hpp"

namespace chapter_03 {
#include "chapters/03_scaling/attention.hpp"
}
namespace chapter_04 {
#include "chapters/04_causal_mask/attention.hpp"
}

#include "attention.hpp"

#include <algorithm>

#include "common/measure.hpp"
#include "common/text.hpp"
#include "reference.hpp"
#include "support.hpp"

// --- what every chapter's code must do ---------------------------------------------------------

namespace shared {

constexpr std::size_t d_in = 5;

inline Attention make_attention(std::size_t columns_in, std::size_t columns_out,
                                Generator& generator) {
  return Attention(columns_in, columns_out, generator);
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

using shared::all_zero;
using shared::mask_where;
using shared::minus_infinity;

/// Attention with random weights, a query sequence and a memory.
struct Example {
  Attention attention;
  Matrix queries_from;
  Matrix memory;
};

/// Weights for scores of about 1, whatever the width.
Matrix random_weights(std::size_t d_in, std::size_t d_out, Generator& generator) {
  return reference::divided(normal_matrix(d_in, d_out, generator),
                            std::sqrt(static_cast<double>(d_in)));
}

Attention random_attention(const Sizes& sizes, Generator& generator) {
  Attention attention(1, 1, generator);
  attention.W_query = random_weights(sizes.d_in, sizes.d_k, generator);
  attention.W_key = random_weights(sizes.d_in, sizes.d_k, generator);
  attention.W_value = random_weights(sizes.d_in, sizes.d_out, generator);
  return attention;
}

Example random_example(const Sizes& sizes, std::size_t T_q, std::size_t T_k) {
  Generator generator(sizes.seed);
  const Attention attention = random_attention(sizes, generator);
  return {attention, normal_matrix(T_q, sizes.d_in, generator),
          normal_matrix(T_k, sizes.d_in, generator)};
}

/// A memory that is longer than the query sequence, or the other way round.
Example random_example(const Sizes& sizes, bool longer_memory) {
  const std::size_t more = sizes.T + 1 + sizes.seed % 3;
  return longer_memory ? random_example(sizes, sizes.T, more)
                       : random_example(sizes, more, sizes.T);
}

Matrix all_zero_mask(std::size_t T_q, std::size_t T_k) {
  return matrix(T_q, T_k);
}

Matrix all_zero_mask(const Example& e) {
  return all_zero_mask(e.queries_from.shape(0), e.memory.shape(0));
}

Matrix future_hidden(std::size_t T_q, std::size_t T_k) {
  return mask_where(T_q, T_k, [](std::size_t i, std::size_t j) { return j > i; });
}

/// The slow way from queries and keys to weights; no row of the mask may hide everything.
Matrix weights_of(const Matrix& queries, const Matrix& keys, const Matrix& mask,
                  double divisor = 0) {
  const double root_d_k = std::sqrt(static_cast<double>(keys.shape(1)));
  return reference::softmax(reference::sum(
      reference::divided(reference::dot_products(queries, keys), divisor == 0 ? root_d_k : divisor),
      mask));
}

Matrix weights_of(const Example& e, const Matrix& mask, double divisor = 0) {
  return weights_of(reference::product(e.queries_from, e.attention.W_query),
                    reference::product(e.memory, e.attention.W_key), mask, divisor);
}

Matrix context_of(const Example& e, const Matrix& mask) {
  return reference::product(weights_of(e, mask), reference::product(e.memory, e.attention.W_value));
}

/// Whether rows `first` to `end` - 1 have kept every bit.
bool rows_kept(const Matrix& before, const Matrix& after, std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    if (!identical(row_of(before, i), row_of(after, i))) return false;
  }
  return true;
}

Matrix reorder_columns(const Matrix& m, const std::vector<std::size_t>& order) {
  return reference::transposed(reorder_rows(reference::transposed(m), order));
}

Matrix with_row_changed(const Matrix& m, std::size_t row) {
  Matrix changed = m;
  for (std::size_t j = 0; j < m.shape(1); ++j) changed(row, j) = Real(1) - m(row, j);
  return changed;
}

Matrix with_entry(Matrix m, std::size_t i, std::size_t j, Real entry) {
  m(i, j) = entry;
  return m;
}

/// Two layers of a translator, each with its own weights: the encoder and the cross-attention.
struct Translator {
  Attention encoder;
  Attention cross;

  Translator(const Sizes& sizes, Generator& generator)
      : encoder(random_attention(sizes, generator)), cross(random_attention(sizes, generator)) {}

  Matrix encode(const Matrix& source) const {
    return encoder.forward(source, source, all_zero_mask(source.shape(0), source.shape(0))).context;
  }
  Matrix translate(const Matrix& source, const Matrix& decoded) const {
    return cross.forward(decoded, encode(source), all_zero_mask(decoded.shape(0), source.shape(0)))
        .context;
  }
};

/// The weights of `from` in an attention of another chapter.
template <class OtherAttention>
OtherAttention with_weights_of(const Attention& from) {
  Generator unused(0);
  OtherAttention other(1, 1, unused);
  other.W_query = from.W_query;
  other.W_key = from.W_key;
  other.W_value = from.W_value;
  return other;
}

}  // namespace

TEST_CASE("queries come from the query sequence and keys and values from the memory", "[B10]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  const bool longer_memory = GENERATE(true, false);
  const Example e = random_example(sizes, longer_memory);
  const std::size_t T_q = e.queries_from.shape(0);
  const std::size_t T_k = e.memory.shape(0);
  const Matrix all_zero = all_zero_mask(e);
  INFO(sizes << ", T_q = " << T_q << ", T_k = " << T_k);
  const auto root = [](std::size_t size) { return std::sqrt(static_cast<double>(size)); };
  auto weights = equals(weights_of(e, all_zero));
  weights
      .unless("the scores are divided by √d_in, the width of the input, not by √d_k",
              weights_of(e, all_zero, root(sizes.d_in)))
      .unless("the scores are divided by √d_out, the width of the values, not by √d_k",
              weights_of(e, all_zero, root(sizes.d_out)))
      .unless("the scores are divided by √T_q, the number of queries, not by √d_k",
              weights_of(e, all_zero, root(T_q)))
      .unless("the scores are divided by √T_k, the number of keys, not by √d_k",
              weights_of(e, all_zero, root(T_k)))
      .unless("the scores aren't divided by √d_k", weights_of(e, all_zero, 1))
      .unless("the causal mask is still on: no token of the other sequence is the future",
              weights_of(e, future_hidden(T_q, T_k)))
      .unless(
          "there are only as many keys as queries; the others get no weight",
          weights_of(e, mask_where(T_q, T_k, [&](std::size_t, std::size_t j) { return j >= T_q; })))
      .unless(
          "the weights are normalised down the columns, so the columns sum to 1, not the rows",
          reference::transposed(weights_of(reference::product(e.memory, e.attention.W_key),
                                           reference::product(e.queries_from, e.attention.W_query),
                                           all_zero_mask(T_k, T_q), root(sizes.d_k))));
  const Trace trace = e.attention.forward(e.queries_from, e.memory, all_zero);
  CHECK_THAT(trace.queries, equals(reference::product(e.queries_from, e.attention.W_query))
                                .unless("the queries come from the memory",
                                        reference::product(e.memory, e.attention.W_query))
                                .unless("W_key makes the queries",
                                        reference::product(e.queries_from, e.attention.W_key)));
  CHECK_THAT(trace.keys, equals(reference::product(e.memory, e.attention.W_key))
                             .unless("the keys come from the query sequence",
                                     reference::product(e.queries_from, e.attention.W_key))
                             .unless("W_query makes the keys",
                                     reference::product(e.memory, e.attention.W_query)));
  CHECK_THAT(trace.values, equals(reference::product(e.memory, e.attention.W_value))
                               .unless("the values come from the query sequence",
                                       reference::product(e.queries_from, e.attention.W_value)));
  CHECK_THAT(trace.weights, weights);
  CHECK_THAT(trace.weights_after_dropout, weights);
  CHECK_THAT(trace.context, equals(context_of(e, all_zero)));
}

TEST_CASE("with equal lengths and widths a mix-up of the two sequences is still found", "[B10]") {
  Generator generator(5);
  const std::size_t T = 4;
  const Attention attention = random_attention({T, 3, 3, 3, 5}, generator);
  const Matrix queries_from = normal_matrix(T, 3, generator);
  const Matrix memory = normal_matrix(T, 3, generator);
  const Matrix& Q = attention.W_query;
  const Matrix& K = attention.W_key;
  const Matrix& V = attention.W_value;
  const Matrix all_zero = all_zero_mask(T, T);
  const Matrix queries = reference::product(queries_from, Q);
  const Matrix keys = reference::product(memory, K);
  const Matrix values = reference::product(memory, V);
  const Matrix own_keys = reference::product(queries_from, K);
  const Matrix own_values = reference::product(queries_from, V);
  const Matrix memory_queries = reference::product(memory, Q);
  const auto context = [](const Matrix& q, const Matrix& k, const Matrix& mask, const Matrix& v) {
    return reference::product(weights_of(q, k, mask), v);
  };
  auto matcher = equals(context(queries, keys, all_zero, values));
  matcher
      .unless(
          "keys and values come from the query sequence: that's self-attention, and the memory is "
          "never used",
          context(queries, own_keys, all_zero, own_values))
      .unless("the keys come from the query sequence", context(queries, own_keys, all_zero, values))
      .unless("the values come from the query sequence",
              context(queries, keys, all_zero, own_values))
      .unless(
          "the queries come from the memory: that's self-attention, and the query sequence is "
          "never "
          "used",
          context(memory_queries, keys, all_zero, values))
      .unless("the two sequences are swapped: the queries come from the memory",
              context(memory_queries, own_keys, all_zero, own_values))
      .unless("keys and values are swapped", context(queries, values, all_zero, keys))
      .unless("the keys are summed, not the values", context(queries, keys, all_zero, keys))
      .unless("W_query and W_key are swapped",
              context(reference::product(queries_from, K), reference::product(memory, Q), all_zero,
                      values))
      .unless("the scores are transposed: keys times queries",
              context(keys, queries, all_zero, values))
      .unless("the keys are not projected", context(queries, memory, all_zero, values))
      .unless("the values are not projected", context(queries, keys, all_zero, memory))
      .unless("the queries are not projected", context(queries_from, keys, all_zero, values))
      .unless("the causal mask is still on: no token of the other sequence is the future",
              context(queries, keys, future_hidden(T, T), values))
      .unless(
          "each query is kept from the key with its own index",
          context(queries, keys,
                  mask_where(T, T, [](std::size_t i, std::size_t j) { return i == j; }), values))
      .unless("the query sequence is added to the context",
              reference::sum(context(queries, keys, all_zero, values), queries_from));
  CHECK_THAT(attention.forward(queries_from, memory, all_zero).context, matcher);
}

TEST_CASE("the same tensor twice is the self-attention of chapter 03", "[B10]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes, true);
  const Matrix& X = e.memory;
  const auto before = with_weights_of<chapter_03::Attention>(e.attention).forward(X);
  const Trace trace = e.attention.forward(X, X, all_zero_mask(X.shape(0), X.shape(0)));
  CHECK_THAT(trace.weights, equals(before.weights)
                                .unless("self-attention is masked although the mask is all zeros",
                                        weights_of({e.attention, X, X}, causal_mask(X.shape(0)))));
  CHECK_THAT(trace.context, equals(before.context));
}

TEST_CASE("the same tensor twice under the causal mask is the attention of chapter 04", "[B10]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes, true);
  const Matrix& X = e.memory;
  const std::size_t T = X.shape(0);
  const Example itself = {e.attention, X, X};
  const auto before =
      with_weights_of<chapter_04::Attention>(e.attention).forward(X, chapter_04::causal_mask(T));
  const auto masking = [&](const auto& is_hidden) {
    return weights_of(itself, mask_where(T, T, is_hidden));
  };
  const Trace trace = e.attention.forward(X, X, causal_mask(T));
  CHECK_THAT(trace.weights,
             equals(before.weights)
                 .unless("the mask is never added", weights_of(itself, all_zero_mask(T, T)))
                 .unless("the causal mask is one off: each token attends to the next one as well",
                         masking([](std::size_t i, std::size_t j) { return j > i + 1; }))
                 .unless("the causal mask hides the earlier tokens, not the later ones",
                         masking([](std::size_t i, std::size_t j) { return j < i; }))
                 .unless("the causal mask hides the next token only",
                         masking([](std::size_t i, std::size_t j) { return j == i + 1; })));
  CHECK_THAT(trace.context, equals(before.context));
}

TEST_CASE("the running example gives the contexts of chapters 03 and 04", "[B10]") {
  Generator generator(42);
  const Attention attention(2, 2, generator);
  const Matrix X = embed(split_words("draw a map"), 2, true).X;
  CHECK_THAT(rounded(attention.forward(X, X, all_zero_mask(3, 3)).context),
             equals(decimals({{1.0100, 1.0641}, {.2040, .7057}, {3.4989, 2.2427}})));
  CHECK_THAT(rounded(attention.forward(X, X, causal_mask(3)).context),
             equals(decimals({{.6038, .7434}, {-.0062, .6072}, {3.4989, 2.2427}})));
}

TEST_CASE("any number of queries works with any number of keys", "[B10]") {
  const std::size_t T_q = GENERATE(as<std::size_t>{}, 0, 1, 2, 5, 40, 130);
  const std::size_t T_k = GENERATE(as<std::size_t>{}, 0, 1, 3, 5, 33, 97);
  INFO(T_q << " queries, " << T_k << " keys");
  const Example e = random_example(Sizes{0, 4, 3, 2, 55}, T_q, T_k);
  const Trace trace = e.attention.forward(e.queries_from, e.memory, all_zero_mask(e));
  CHECK(shape_text(trace.weights) == shape_text(all_zero_mask(e)));
  if (T_k == 0) {
    CHECK_THAT(trace.context, equals(matrix(T_q, 2)));
  } else {
    CHECK_THAT(trace.context, equals(context_of(e, all_zero_mask(e))));
  }
}

TEST_CASE("an empty memory yields zeros", "[B10]") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 56}, 3, 0);
  INFO("with no values to sum, a context is zeros of (T_q, d_out)");
  const Trace trace = e.attention.forward(e.queries_from, e.memory, padding_mask(3, {}));
  CHECK_THAT(trace.context, equals(matrix(3, 2)));
}

TEST_CASE("a memory of one token gives its value to every query", "[B10]") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 57}, 5, 1);
  const Matrix value = reference::product(e.memory, e.attention.W_value);
  const Trace trace = e.attention.forward(e.queries_from, e.memory, all_zero_mask(e));
  CHECK_THAT(trace.weights, equals(matrix(5, 1, 1)));
  CHECK_THAT(trace.context, equals(reorder_rows(value, {0, 0, 0, 0, 0})));
}

TEST_CASE("queries keys and values can come from three inputs", "[B10]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes, true);
  Generator generator(sizes.seed + 1);
  const Matrix values_from = normal_matrix(e.memory.shape(0), sizes.d_in + 3, generator);
  const Matrix W_value = random_weights(sizes.d_in + 3, sizes.d_out, generator);
  const Matrix values = reference::product(values_from, W_value);
  const Trace trace =
      attend(matmul(e.queries_from, e.attention.W_query), matmul(e.memory, e.attention.W_key),
             matmul(values_from, W_value), all_zero_mask(e));
  CHECK_THAT(trace.weights, equals(weights_of(e, all_zero_mask(e))));
  CHECK_THAT(trace.context, equals(reference::product(weights_of(e, all_zero_mask(e)), values)));
  const Matrix one_missing = normal_matrix(e.memory.shape(0) + 1, sizes.d_out, generator);
  INFO("a key without a value, or a value without a key");
  CHECK_THAT(message_of([&] {
               attend(matmul(e.queries_from, e.attention.W_query),
                      matmul(e.memory, e.attention.W_key), one_missing, all_zero_mask(e));
             }),
             ContainsSubstring(shape_text(one_missing)));
}

TEST_CASE("changing one encoder token changes every decoder row", "[B10]") {
  const std::size_t T_q = GENERATE(as<std::size_t>{}, 3, 7);
  const std::size_t T_k = 5;
  Generator generator(510);
  const Translator translator({0, 4, 3, 4, 510}, generator);
  const Matrix source = normal_matrix(T_k, 4, generator);
  const Matrix decoded = normal_matrix(T_q, 4, generator);
  const Matrix before = translator.translate(source, decoded);
  for (std::size_t changed = 0; changed < T_k; ++changed) {
    const Matrix after = translator.translate(with_row_changed(source, changed), decoded);
    for (std::size_t i = 0; i < T_q; ++i) {
      INFO("encoder token " << changed << " has changed, and decoder row " << i << " hasn't");
      CHECK_FALSE(same(row_of(after, i), row_of(before, i)));
    }
  }
}

TEST_CASE("changing one decoder token changes its own row and later ones only", "[B10]") {
  const std::size_t T_q = GENERATE(as<std::size_t>{}, 6, 40);
  Generator generator(511);
  const Sizes sizes = {0, 4, 3, 4, 511};
  const Translator translator(sizes, generator);
  const Attention decoder = random_attention(sizes, generator);
  const Matrix source = normal_matrix(4, 4, generator);
  const Matrix target = normal_matrix(T_q, 4, generator);
  const auto translate = [&](const Matrix& so_far) {
    return translator.translate(source, decoder.forward(so_far, so_far, causal_mask(T_q)).context);
  };
  const Matrix before = translate(target);
  for (std::size_t changed = 0; changed < T_q; changed += T_q / 6) {
    const Matrix after = translate(with_row_changed(target, changed));
    INFO("decoder token " << changed << " of " << T_q << " has changed");
    {
      INFO("the rows before it must keep every bit: the decoder's causal mask doesn't hide it");
      CHECK(rows_kept(before, after, 0, changed));
    }
    for (std::size_t i = changed; i < std::min(changed + 3, T_q); ++i) {
      INFO("row " << i << " hasn't changed");
      CHECK_FALSE(same(row_of(after, i), row_of(before, i)));
    }
  }
}

TEST_CASE("the context of a query depends on no other query", "[B10]") {
  const Example e = random_example(Sizes{0, 5, 3, 4, 512}, 6, 4);
  const Trace all = e.attention.forward(e.queries_from, e.memory, all_zero_mask(e));
  for (std::size_t i = 0; i < 6; ++i) {
    INFO("query " << i << " alone, or changed: the other rows must keep every bit");
    const Trace alone =
        e.attention.forward(row_of(e.queries_from, i), e.memory, all_zero_mask(1, 4));
    CHECK_THAT(alone.context, equals(row_of(all.context, i)));
    const Trace changed =
        e.attention.forward(with_row_changed(e.queries_from, i), e.memory, all_zero_mask(e));
    CHECK(rows_kept(all.context, changed.context, 0, i));
    CHECK(rows_kept(all.context, changed.context, i + 1, 6));
    CHECK_FALSE(same(row_of(changed.context, i), row_of(all.context, i)));
  }
}

TEST_CASE("reordering the memory leaves the context unchanged", "[B10]") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 513}, 3, 5);
  const std::vector<std::size_t> order = {3, 0, 4, 2, 1};
  const std::vector<bool> present = {true, false, true, true, false};
  const Matrix mask = GENERATE_COPY(all_zero_mask(3, 5), shared::padding_by_loops(3, present));
  const Trace before = e.attention.forward(e.queries_from, e.memory, mask);
  const Trace after = e.attention.forward(e.queries_from, reorder_rows(e.memory, order),
                                          reorder_columns(mask, order));
  CHECK_THAT(after.context, equals(before.context));
  CHECK_THAT(after.weights, equals(reorder_columns(before.weights, order)));
}

TEST_CASE("only position embeddings tell the same words in another order apart", "[B1]") {
  Generator generator(514);
  const Translator translator({0, 4, 3, 4, 514}, generator);
  const Matrix decoded = normal_matrix(2, 4, generator);
  const auto context = [&](const char* words, bool positions) {
    return translator.translate(embed(split_words(words), 4, positions).X, decoded);
  };
  {
    INFO("without positions the order of the words must not matter");
    CHECK_THAT(context("cats chase dogs", false), equals(context("dogs chase cats", false)));
  }
  INFO("with positions it must: a position is a token's index, and doesn't follow from the word");
  CHECK_FALSE(same(context("cats chase dogs", true), context("dogs chase cats", true)));
}

TEST_CASE("adding the input back tells apart rows that attend to the same token", "[B10]") {
  // All queries find the first key, so that all contexts are its value.
  const Matrix input = {{1, 0, 2}, {1, 3, 0}, {1, -1, 1}};
  const Matrix queries = {{40, 0}, {40, 0}, {40, 0}};
  const Matrix keys = {{40, 0}, {0, 40}, {0, -40}};
  const Matrix values = {{2, 5, -1}, {0, 3, 1}, {4, 4, 4}};
  Generator generator(516);
  const Matrix W_query = normal_matrix(3, 4, generator);
  const Matrix context = attend(queries, keys, values, causal_mask(3)).context;
  const Matrix lost = matmul(context, W_query);
  const Matrix kept = matmul(Matrix(input + context), W_query);
  for (std::size_t i = 1; i < 3; ++i) {
    INFO("rows 0 and " << i << " of the next layer's queries");
    CHECK_THAT(row_of(lost, i), equals(row_of(lost, 0)));
    CHECK_FALSE(same(row_of(kept, i), row_of(kept, 0)));
  }
}

TEST_CASE("a text decoder attends to the patches of an image", "[B14][B10]") {
  // Nine grey patches of six pixels each; words of four elements. Only d_k has to agree.
  Generator generator(515);
  Attention encoder(6, 5, generator);
  const Matrix patches = normal_matrix(9, 6, generator);
  const Matrix memory = encoder.forward(patches, patches, all_zero_mask(9, 9)).context;
  Example e = {random_attention({0, 4, 3, 2, 515}, generator), normal_matrix(5, 4, generator),
               memory};
  e.attention.W_key = random_weights(5, 3, generator);
  e.attention.W_value = random_weights(5, 2, generator);
  INFO("keys and values come from the patches, whose vectors needn't be as wide as the words'");
  const Trace trace = e.attention.forward(e.queries_from, e.memory, all_zero_mask(e));
  CHECK_THAT(trace.weights, equals(weights_of(e, all_zero_mask(e))));
  CHECK_THAT(trace.context, equals(context_of(e, all_zero_mask(e))));
}

TEST_CASE("every row sums to 1 and no context leaves the range of the values", "[A11][B10]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  const bool longer_memory = GENERATE(true, false);
  INFO(sizes);
  const Example e = random_example(sizes, longer_memory);
  const std::size_t T_q = e.queries_from.shape(0);
  const std::size_t T_k = e.memory.shape(0);
  const std::vector<bool> present = shared::random_presence(T_k, sizes.seed);
  const Trace visible = e.attention.forward(e.queries_from, e.memory, all_zero_mask(e));
  const Trace padded =
      e.attention.forward(e.queries_from, e.memory, shared::padding_by_loops(T_q, present));
  for (const Real sum : row_sums(visible.weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  for (const Real sum : row_sums(padded.weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  const Matrix values = reference::product(e.memory, e.attention.W_value);
  CHECK(stays_in_range(visible.context, values));
  CHECK(stays_in_range(padded.context, reorder_rows(values, shared::indices_of(present, true))));
}

TEST_CASE("padding gets a weight of exactly 0 and changes no context") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  const bool longer_memory = GENERATE(true, false);
  const Real size_of_padding = GENERATE(Real(0), Real(4), Real(1e4));
  INFO(sizes << ", and padding of " << size_of_padding << " times the size of words");
  Example padded = random_example(sizes, longer_memory);
  const std::vector<bool> present = shared::random_presence(padded.memory.shape(0), sizes.seed);
  const std::vector<std::size_t> words = shared::indices_of(present, true);
  const std::vector<std::size_t> padding = shared::indices_of(present, false);
  for (const std::size_t j : padding) {
    for (std::size_t k = 0; k < sizes.d_in; ++k) padded.memory(j, k) *= size_of_padding;
  }
  Example bare = padded;
  bare.memory = reorder_rows(padded.memory, words);
  const Trace trace = padded.attention.forward(padded.queries_from, padded.memory,
                                               padding_mask(padded.queries_from.shape(0), present));
  const Trace without = bare.attention.forward(bare.queries_from, bare.memory, all_zero_mask(bare));
  for (const std::size_t j : padding) {
    INFO("the padding in column " << j << " must get a weight of exactly 0");
    CHECK(all_zero(reorder_columns(trace.weights, {j})));
    CHECK(all_zero(reorder_columns(trace.weights_after_dropout, {j})));
  }
  CHECK_THAT(reorder_columns(trace.weights, words), equals(weights_of(bare, all_zero_mask(bare))));
  CHECK_THAT(trace.context, equals(context_of(bare, all_zero_mask(bare)))
                                .unless("tokens attend to the padding as if it were words",
                                        context_of(padded, all_zero_mask(padded))));
  CHECK_THAT(trace.context, equals(without.context));
}

TEST_CASE("left padding under a causal mask makes fully masked rows and yields zeros there") {
  Generator generator(522);
  const Attention decoder = random_attention({0, 4, 3, 2, 522}, generator);
  for (const std::size_t padding : {1U, 2U, 40U}) {
    const std::size_t T = padding + 5;
    const Matrix X = normal_matrix(T, 4, generator);
    std::vector<bool> present(T, true);
    std::fill_n(present.begin(), padding, false);
    const Matrix mask = causal_mask(T) + padding_mask(T, present);
    const Trace trace = decoder.forward(X, X, mask);
    const Matrix words = xt::view(X, xt::range(padding, T), xt::all());
    const Trace without = decoder.forward(words, words, causal_mask(5));
    INFO(padding << " tokens of padding, then five words");
    const Matrix padded_rows = xt::view(trace.context, xt::range(0, padding), xt::all());
    const Matrix word_rows = xt::view(trace.context, xt::range(padding, T), xt::all());
    CHECK_THAT(padded_rows, equals(matrix(padding, 2)));
    CHECK_THAT(word_rows, equals(without.context));
  }
}

TEST_CASE("chapter 04's softmax gives nan for a fully masked row") {
  const Matrix weights = chapter_04::softmax(
      {{1, 2, 3}, {minus_infinity, minus_infinity, minus_infinity}, {1, 2, minus_infinity}});
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK_FALSE(std::isnan(weights(0, j)));
    CHECK(std::isnan(weights(1, j)));
    CHECK_FALSE(std::isnan(weights(2, j)));
  }
}

TEST_CASE("a mask of the wrong shape is rejected with both shapes") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 530}, 3, 5);
  struct Shape {
    std::size_t rows;
    std::size_t columns;
  };
  for (const Shape shape : {Shape{5, 3}, Shape{1, 5}, Shape{3, 1}, Shape{3, 3}, Shape{15, 1}}) {
    const Matrix mask = all_zero_mask(shape.rows, shape.columns);
    INFO("three queries, five keys, and a mask of " << shape_text(mask) << ": only (3, 5) fits");
    CHECK_THAT(message_of([&] { e.attention.forward(e.queries_from, e.memory, mask); }),
               ContainsSubstring("mask is " + shape_text(mask)) && ContainsSubstring("(3, 5)"));
  }
}

TEST_CASE("a non-finite entry is rejected with the name of its sequence and its index") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 531}, 3, 5);
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  for (const Real entry : {nan, minus_infinity, -minus_infinity}) {
    const std::string says = fmt::format("is {}", entry);
    CHECK_THAT(message_of([&] {
                 e.attention.forward(with_entry(e.queries_from, 2, 1, entry), e.memory,
                                     all_zero_mask(e));
               }),
               ContainsSubstring("queries_from(2, 1) " + says));
    CHECK_THAT(message_of([&] {
                 e.attention.forward(e.queries_from, with_entry(e.memory, 4, 3, entry),
                                     all_zero_mask(e));
               }),
               ContainsSubstring("memory(4, 3) " + says));
  }
}

TEST_CASE("sequences that don't fit the weights are rejected with their shapes") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 532}, 3, 5);
  CHECK_THAT(message_of([&] { e.attention.forward(matrix(3, 6), e.memory, all_zero_mask(e)); }),
             ContainsSubstring("(3, 6)"));
  CHECK_THAT(
      message_of([&] { e.attention.forward(e.queries_from, matrix(5, 6), all_zero_mask(e)); }),
      ContainsSubstring("(5, 6)"));
}

TEST_CASE("dropout reaches the cross-attention weights and only while training") {
  const Example e = random_example(Sizes{0, 5, 3, 2, 541}, 80, 90);
  const Matrix weights = weights_of(e, all_zero_mask(e));
  const Matrix values = reference::product(e.memory, e.attention.W_value);
  Generator generator(541);
  const auto run = [&](const std::optional<Training>& training) {
    return e.attention.forward(e.queries_from, e.memory, all_zero_mask(e), training);
  };
  const Trace at_inference = run({});
  CHECK_THAT(at_inference.weights_after_dropout, equals(weights));
  CHECK_THAT(at_inference.context, equals(reference::product(weights, values)));
  const Trace training = run(Training{Real(0.3), generator});
  CHECK_THAT(training.weights, equals(weights));
  const Matrix& after = training.weights_after_dropout;
  const double dropped = shared::dropped_together(after, after);
  {
    INFO(dropped << " of 7,200 weights are dropped; forward has to pass training on to attend");
    CHECK_THAT(dropped, WithinAbs(0.3, 5 * std::sqrt(0.3 * 0.7 / 7200)));
  }
  CHECK(shared::wrong_factors(after, weights, 0.3) == "");
  CHECK_THAT(training.context, equals(reference::product(after, values))
                                   .unless("the context sums the values by the weights before "
                                           "dropout",
                                           reference::product(weights, values)));
  CHECK_THAT(run(Training{1, generator}).context, equals(matrix(80, 2)));
}

TEST_CASE("PyTorch computes the same cross-attention", "[B10]") {
  for (const Golden& golden : Golden::load("05_cross_attention")) {
    Generator unused(0);
    Attention attention(1, 1, unused);
    attention.W_query = golden["W_query"];
    attention.W_key = golden["W_key"];
    attention.W_value = golden["W_value"];
    const Matrix& is_hidden = golden["hidden"];
    const Matrix mask =
        mask_where(is_hidden.shape(0), is_hidden.shape(1),
                   [&](std::size_t i, std::size_t j) { return is_hidden(i, j) != 0; });
    const Trace trace = attention.forward(golden["queries_from"], golden["memory"], mask);
    CHECK_THAT(trace.weights, equals(golden["weights"]));
    CHECK_THAT(trace.context, equals(golden["context"]));
  }
}
