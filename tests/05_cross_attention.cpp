/// @file
/// @brief What chapter 05 says about one sequence that reads another, as tests.

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

namespace {

constexpr Real hidden = -std::numeric_limits<Real>::infinity();

/// Attention with random weights, a sequence that asks and one that answers.
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

/// More tokens that answer than tokens that ask, or the other way round.
Example random_example(const Sizes& sizes, bool more_answer) {
  const std::size_t more = sizes.T + 1 + sizes.seed % 3;
  return more_answer ? random_example(sizes, sizes.T, more) : random_example(sizes, more, sizes.T);
}

Matrix all_zero_mask(std::size_t T_q, std::size_t T_k) {
  return reference::make(T_q, T_k);
}

Matrix all_zero_mask(const Example& e) {
  return all_zero_mask(e.queries_from.shape(0), e.memory.shape(0));
}

/// −∞ where `is_hidden(i, j)`.
template <class Rule>
Matrix mask_where(std::size_t T_q, std::size_t T_k, const Rule& is_hidden) {
  Matrix mask = all_zero_mask(T_q, T_k);
  for (std::size_t i = 0; i < T_q; ++i) {
    for (std::size_t j = 0; j < T_k; ++j) mask(i, j) = is_hidden(i, j) ? hidden : Real{0};
  }
  return mask;
}

/// 1 where a mask is −∞; 0, or what else stands there, where it is not.
Matrix where_hidden(const Matrix& mask) {
  Matrix places = mask;
  for (Real& entry : places) entry = entry == hidden ? Real{1} : entry;
  return places;
}

Matrix future_hidden(std::size_t T_q, std::size_t T_k) {
  return mask_where(T_q, T_k, [](std::size_t i, std::size_t j) { return j > i; });
}

/// The slow way from queries and keys to weights; no row of the mask may hide everything.
Matrix weights_of(const Matrix& queries, const Matrix& keys, const Matrix& mask) {
  const double root_d_k = std::sqrt(static_cast<double>(keys.shape(1)));
  return reference::softmax(
      reference::sum(reference::divided(reference::dot_products(queries, keys), root_d_k), mask));
}

Matrix weights_of(const Example& e, const Matrix& mask) {
  return weights_of(reference::product(e.queries_from, e.attention.W_query),
                    reference::product(e.memory, e.attention.W_key), mask);
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

Matrix with_row_moved(const Matrix& m, std::size_t row) {
  Matrix moved = m;
  for (std::size_t j = 0; j < m.shape(1); ++j) moved(row, j) = Real(1) - m(row, j);
  return moved;
}

bool all_finite(const Matrix& m) {
  return std::all_of(m.begin(), m.end(), [](Real entry) { return std::isfinite(entry); });
}

bool all_zero(const Matrix& m) {
  return std::all_of(m.begin(), m.end(), [](Real entry) { return entry == 0; });
}

/// What a row of weights that had to stay empty looks like.
std::string diagnosis(const Matrix& weights) {
  if (!all_finite(weights)) {
    return "a row with nothing to read gives nan: its exponentials sum to 0, and 0 is divided by 0";
  }
  if (!all_zero(weights)) {
    return "a row with nothing to read still hands out shares: what hides is not −∞, only a large "
           "number";
  }
  return "a row with nothing to read gives zeros, as it should";
}

/// Two layers of a translator, each with weights of its own: one reads its own sequence, one reads
/// across.
struct Translator {
  Attention encoder;
  Attention across;

  Translator(const Sizes& sizes, Generator& generator)
      : encoder(random_attention(sizes, generator)), across(random_attention(sizes, generator)) {}

  Matrix encode(const Matrix& source) const {
    return encoder.forward(source, source, all_zero_mask(source.shape(0), source.shape(0))).context;
  }
  Matrix translate(const Matrix& source, const Matrix& queries_from) const {
    return across
        .forward(queries_from, encode(source),
                 all_zero_mask(queries_from.shape(0), source.shape(0)))
        .context;
  }
};

/// Padding in random places, the first or the last among them, but never all.
std::vector<bool> random_presence(std::size_t T_k, std::uint64_t seed) {
  std::vector<bool> present(T_k);
  for (std::size_t j = 0; j < T_k; ++j) present[j] = (seed >> (j % 16)) % 2 == 1;
  present[seed % T_k] = true;
  present[(seed + 1) % T_k] = T_k == 1;
  return present;
}

std::vector<std::size_t> places_of(const std::vector<bool>& present, bool which) {
  std::vector<std::size_t> places;
  for (std::size_t j = 0; j < present.size(); ++j) {
    if (present[j] == which) places.push_back(j);
  }
  return places;
}

Matrix right_padding_mask(std::size_t T_q, const std::vector<bool>& present) {
  return mask_where(T_q, present.size(), [&](std::size_t, std::size_t j) { return !present[j]; });
}

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

TEST_CASE("one sequence asks and the other one answers", "[B10]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  const bool more_answer = GENERATE(true, false);
  const Example e = random_example(sizes, more_answer);
  const std::size_t T_q = e.queries_from.shape(0);
  const std::size_t T_k = e.memory.shape(0);
  INFO(sizes << ", T_q = " << T_q << ", T_k = " << T_k);
  INFO("queries come from the query sequence, keys and values from the memory");
  auto weights = equals(weights_of(e, all_zero_mask(e)));
  weights.unless("the causal mask is still on: no token of the other sequence is the future",
                 weights_of(e, future_hidden(T_q, T_k)));
  weights.unless(
      "only as many tokens answer as ask; the others are never read",
      weights_of(e, mask_where(T_q, T_k, [&](std::size_t, std::size_t j) { return j >= T_q; })));
  weights.unless(
      "the weights are normalised down the columns, so the columns sum to 1, not the rows",
      reference::transposed(weights_of(reference::product(e.memory, e.attention.W_key),
                                       reference::product(e.queries_from, e.attention.W_query),
                                       all_zero_mask(T_k, T_q))));
  const Trace trace = e.attention.forward(e.queries_from, e.memory, all_zero_mask(e));
  CHECK_THAT(trace.weights, weights);
  CHECK_THAT(trace.weights_after_dropout, equals(trace.weights));
  CHECK_THAT(trace.keys, equals(reference::product(e.memory, e.attention.W_key)));
  CHECK_THAT(trace.values, equals(reference::product(e.memory, e.attention.W_value)));
  CHECK_THAT(trace.context, equals(context_of(e, all_zero_mask(e))));
}

TEST_CASE("with two sequences of one length no mix-up of the sides goes unnoticed", "[B10]") {
  Generator generator(5);
  const std::size_t T = 4;
  const Attention attention = random_attention({T, 3, 3, 3, 5}, generator);
  const Matrix queries_from = normal_matrix(T, 3, generator);
  const Matrix memory = normal_matrix(T, 3, generator);
  const Matrix& Q = attention.W_query;
  const Matrix& K = attention.W_key;
  const Matrix& V = attention.W_value;
  const Matrix open = all_zero_mask(T, T);
  const Matrix queries = reference::product(queries_from, Q);
  const Matrix keys = reference::product(memory, K);
  const Matrix values = reference::product(memory, V);
  const Matrix own_keys = reference::product(queries_from, K);
  const Matrix own_values = reference::product(queries_from, V);
  const Matrix others_queries = reference::product(memory, Q);
  const auto blend = [](const Matrix& q, const Matrix& k, const Matrix& mask, const Matrix& v) {
    return reference::product(weights_of(q, k, mask), v);
  };
  auto matcher = equals(blend(queries, keys, open, values));
  matcher.unless("keys and values come from the side that asks, so it only reads itself",
                 blend(queries, own_keys, open, own_values));
  matcher.unless("the keys come from the side that asks", blend(queries, own_keys, open, values));
  matcher.unless("the values come from the side that asks: it hands itself what it has",
                 blend(queries, keys, open, own_values));
  matcher.unless("the queries come from the side that answers, so it only reads itself",
                 blend(others_queries, keys, open, values));
  matcher.unless("the two sides are swapped: the queries come from the memory",
                 blend(others_queries, own_keys, open, own_values));
  matcher.unless("keys and values are swapped", blend(queries, values, open, keys));
  matcher.unless("the keys are blended, not the values", blend(queries, keys, open, keys));
  matcher.unless(
      "W_query and W_key are swapped",
      blend(reference::product(queries_from, K), reference::product(memory, Q), open, values));
  matcher.unless("the scores are turned: the keys ask the queries",
                 blend(keys, queries, open, values));
  matcher.unless("the keys are not projected", blend(queries, memory, open, values));
  matcher.unless("the values are not projected", blend(queries, keys, open, memory));
  matcher.unless("the queries are not projected", blend(queries_from, keys, open, values));
  matcher.unless("the causal mask is still on: no token of the other sequence is the future",
                 blend(queries, keys, future_hidden(T, T), values));
  matcher.unless(
      "each token is kept from the one in its own place of the other sequence",
      blend(queries, keys, mask_where(T, T, [](std::size_t i, std::size_t j) { return i == j; }),
            values));
  matcher.unless("the token that asks is added to what it reads",
                 reference::sum(blend(queries, keys, open, values), queries_from));
  CHECK_THAT(attention.forward(queries_from, memory, open).context, matcher);
}

TEST_CASE("the same tensor on both sides is the self-attention of chapter 03", "[B10]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes, true);
  const Matrix& X = e.memory;
  const auto before = with_weights_of<chapter_03::Attention>(e.attention).forward(X);
  const Trace trace = e.attention.forward(X, X, all_zero_mask(X.shape(0), X.shape(0)));
  CHECK_THAT(trace.weights, equals(before.weights));
  CHECK_THAT(trace.context, equals(before.context));
}

TEST_CASE("the same tensor under the causal mask is the masked attention of chapter 04", "[B10]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  INFO(sizes);
  const Example e = random_example(sizes, true);
  const Matrix& X = e.memory;
  const std::size_t T = X.shape(0);
  const auto before =
      with_weights_of<chapter_04::Attention>(e.attention).forward(X, chapter_04::causal_mask(T));
  const Trace trace = e.attention.forward(X, X, causal_mask(T));
  auto matcher = equals(before.weights);
  matcher.unless("the mask is never added",
                 with_weights_of<chapter_03::Attention>(e.attention).forward(X).weights);
  CHECK_THAT(trace.weights, matcher);
  CHECK_THAT(trace.context, equals(before.context));
}

TEST_CASE("a sequence that asks itself gives the running example's two contexts", "[B10]") {
  Generator generator(42);
  const Attention attention(2, 2, generator);
  const Matrix X = embed(split_words("draw a map"), 2, true).X;
  CHECK_THAT(rounded(attention.forward(X, X, all_zero_mask(3, 3)).context),
             equals(decimals({{1.0100, 1.0641}, {.2040, .7057}, {3.4989, 2.2427}})));
  CHECK_THAT(rounded(attention.forward(X, X, causal_mask(3)).context),
             equals(decimals({{.6038, .7434}, {-.0062, .6072}, {3.4989, 2.2427}})));
}

TEST_CASE("any number of tokens may ask any number of others", "[B10]") {
  const std::size_t T_q = GENERATE(as<std::size_t>{}, 0, 1, 2, 5);
  const std::size_t T_k = GENERATE(as<std::size_t>{}, 0, 1, 3, 5);
  INFO(T_q << " tokens ask, " << T_k << " answer");
  const Example e = random_example(Sizes{0, 4, 3, 2, 55}, T_q, T_k);
  const Trace trace = e.attention.forward(e.queries_from, e.memory, all_zero_mask(e));
  CHECK(shape_text(trace.weights) == shape_text(all_zero_mask(e)));
  CHECK(shape_text(trace.context) == shape_text(reference::make(T_q, 2)));
  CHECK(all_finite(trace.context));
  if (T_k > 0) CHECK_THAT(trace.context, equals(context_of(e, all_zero_mask(e))));
}

TEST_CASE("where nobody answers the context is zeros", "[B10]") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 56}, 3, 0);
  INFO("with no values to blend, a context holds zeros: finite, and (T_q, d_out)");
  const Trace trace = e.attention.forward(e.queries_from, e.memory, padding_mask(3, {}));
  CHECK_THAT(trace.context, equals(reference::make(3, 2)));
}

TEST_CASE("a single token that answers hands its value to everyone", "[B10]") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 57}, 5, 1);
  const Matrix value = reference::product(e.memory, e.attention.W_value);
  CHECK_THAT(e.attention.forward(e.queries_from, e.memory, all_zero_mask(e)).context,
             equals(reorder_rows(value, {0, 0, 0, 0, 0})));
}

TEST_CASE("changing one token of the encoder changes every row of the decoder", "[B10]") {
  const std::size_t T_q = GENERATE(as<std::size_t>{}, 3, 7);
  const std::size_t T_k = 5;
  Generator generator(510);
  const Translator translator({0, 4, 3, 4, 510}, generator);
  const Matrix source = normal_matrix(T_k, 4, generator);
  const Matrix queries_from = normal_matrix(T_q, 4, generator);
  const Matrix before = translator.translate(source, queries_from);
  for (std::size_t changed = 0; changed < T_k; ++changed) {
    const Matrix after = translator.translate(with_row_moved(source, changed), queries_from);
    for (std::size_t i = 0; i < T_q; ++i) {
      INFO("encoder token " << changed << " has changed, decoder row " << i << " has not noticed");
      CHECK_FALSE(same(row_of(after, i), row_of(before, i)));
    }
  }
}

TEST_CASE("changing one token of the decoder changes its row and later ones only", "[B10]") {
  const std::size_t T_q = 6;
  Generator generator(511);
  const Sizes sizes = {0, 4, 3, 4, 511};
  const Translator translator(sizes, generator);
  const auto decoder = with_weights_of<chapter_04::Attention>(random_attention(sizes, generator));
  const Matrix source = normal_matrix(4, 4, generator);
  const Matrix target = normal_matrix(T_q, 4, generator);
  const auto translate = [&](const Matrix& so_far) {
    return translator.translate(source,
                                decoder.forward(so_far, chapter_04::causal_mask(T_q)).context);
  };
  const Matrix before = translate(target);
  for (std::size_t changed = 0; changed < T_q; ++changed) {
    const Matrix after = translate(with_row_moved(target, changed));
    INFO("decoder token " << changed << " has changed: the rows before it must keep every bit");
    CHECK(rows_kept(before, after, 0, changed));
    for (std::size_t i = changed; i < T_q; ++i) {
      INFO("row " << i << " has not noticed");
      CHECK_FALSE(same(row_of(after, i), row_of(before, i)));
    }
  }
}

TEST_CASE("each token asks for itself alone", "[B10]") {
  const Example e = random_example(Sizes{0, 5, 3, 4, 512}, 6, 4);
  const Trace all = e.attention.forward(e.queries_from, e.memory, all_zero_mask(e));
  for (std::size_t i = 0; i < 6; ++i) {
    INFO("token " << i << " asks alone, or another in its place; the others must keep every bit");
    const Trace alone =
        e.attention.forward(row_of(e.queries_from, i), e.memory, all_zero_mask(1, 4));
    CHECK_THAT(alone.context, equals(row_of(all.context, i)));
    const Trace moved =
        e.attention.forward(with_row_moved(e.queries_from, i), e.memory, all_zero_mask(e));
    CHECK(rows_kept(all.context, moved.context, 0, i));
    CHECK(rows_kept(all.context, moved.context, i + 1, 6));
    CHECK_FALSE(same(row_of(moved.context, i), row_of(all.context, i)));
  }
}

TEST_CASE("in whichever order the tokens answer the context is the same", "[B10]") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 513}, 3, 5);
  const std::vector<std::size_t> order = {3, 0, 4, 2, 1};
  const std::vector<bool> present = {true, false, true, true, false};
  const Matrix mask = GENERATE_COPY(all_zero_mask(3, 5), right_padding_mask(3, present));
  const Trace before = e.attention.forward(e.queries_from, e.memory, mask);
  const Trace after = e.attention.forward(e.queries_from, reorder_rows(e.memory, order),
                                          reorder_columns(mask, order));
  CHECK_THAT(after.context, equals(before.context));
  CHECK_THAT(after.weights, equals(reorder_columns(before.weights, order)));
}

TEST_CASE("only their places tell the same words in another order apart", "[B1]") {
  Generator generator(514);
  const Translator translator({0, 4, 3, 4, 514}, generator);
  const Matrix queries_from = normal_matrix(2, 4, generator);
  const auto answer = [&](const char* words, bool positions) {
    return translator.translate(embed(split_words(words), 4, positions).X, queries_from);
  };
  CHECK_THAT(answer("cats chase dogs", false), equals(answer("dogs chase cats", false)));
  CHECK_FALSE(same(answer("cats chase dogs", true), answer("dogs chase cats", true)));
}

TEST_CASE("a text can ask the patches of an image", "[B14][B10]") {
  // Nine grey patches of six pixels each; words of four numbers. Only d_k has to agree.
  Generator generator(515);
  Example e = {random_attention({0, 4, 3, 2, 515}, generator), normal_matrix(5, 4, generator),
               normal_matrix(9, 6, generator)};
  e.attention.W_key = random_weights(6, 3, generator);
  e.attention.W_value = random_weights(6, 2, generator);
  INFO("keys and values come from the patches, which need not be as wide as the words");
  const Trace trace = e.attention.forward(e.queries_from, e.memory, all_zero_mask(e));
  CHECK_THAT(trace.weights, equals(weights_of(e, all_zero_mask(e))));
  CHECK_THAT(trace.context, equals(context_of(e, all_zero_mask(e))));
}

TEST_CASE("every row of the rectangle sums to 1 and no context leaves the range of the answers",
          "[A11][B10]") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  const bool more_answer = GENERATE(true, false);
  INFO(sizes);
  const Example e = random_example(sizes, more_answer);
  const std::size_t T_q = e.queries_from.shape(0);
  const std::size_t T_k = e.memory.shape(0);
  const std::vector<bool> present = random_presence(T_k, sizes.seed);
  const Trace open = e.attention.forward(e.queries_from, e.memory, all_zero_mask(e));
  const Trace padded =
      e.attention.forward(e.queries_from, e.memory, right_padding_mask(T_q, present));
  for (const Real sum : row_sums(open.weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  for (const Real sum : row_sums(padded.weights)) CHECK_THAT(sum, WithinRel(1, tolerance));
  const Matrix values = reference::product(e.memory, e.attention.W_value);
  CHECK(stays_in_range(open.context, values));
  CHECK(stays_in_range(padded.context, reorder_rows(values, places_of(present, true))));
}

TEST_CASE("a padding mask hides whole columns") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  const std::size_t T_q = sizes.T;
  const std::size_t T_k = sizes.d_in;  // as long as T_q in one case: there rows and columns fit
  const std::vector<bool> present = random_presence(T_k, sizes.seed);
  std::vector<bool> absent = present;
  absent.flip();
  const std::size_t first_padding =
      static_cast<std::size_t>(std::find(present.begin(), present.end(), false) - present.begin());
  INFO(T_q << " tokens ask, " << T_k << " answer; 1 stands where the mask is −∞");
  auto matcher = equals(where_hidden(right_padding_mask(T_q, present)));
  matcher.unless("the tokens that are present are hidden, and the padding is not",
                 where_hidden(right_padding_mask(T_q, absent)));
  matcher.unless("nothing is hidden", all_zero_mask(T_q, T_k));
  matcher.unless("rows are hidden, not columns: padding may ask, but must not answer",
                 where_hidden(reference::transposed(right_padding_mask(T_k, present))));
  matcher.unless("only the first row hides the padding",
                 where_hidden(mask_where(T_q, T_k, [&](std::size_t i, std::size_t j) {
                   return i == 0 && !present[j];
                 })));
  matcher.unless("all tokens from the first padding on are hidden",
                 where_hidden(mask_where(
                     T_q, T_k, [&](std::size_t, std::size_t j) { return j >= first_padding; })));
  CHECK_THAT(where_hidden(padding_mask(T_q, present)), matcher);
  CHECK(shape_text(padding_mask(0, present)) == shape_text(all_zero_mask(0, T_k)));
}

TEST_CASE("padding gets exactly no weight and changes no context") {
  const Sizes sizes = GENERATE(from_range(random_sizes()));
  const bool more_answer = GENERATE(true, false);
  INFO(sizes);
  Example padded = random_example(sizes, more_answer);
  const std::vector<bool> present = random_presence(padded.memory.shape(0), sizes.seed);
  const std::vector<std::size_t> words = places_of(present, true);
  for (const std::size_t j :
       places_of(present, false)) {  // what padding holds is nobody's business
    for (std::size_t k = 0; k < sizes.d_in; ++k) padded.memory(j, k) *= 4;
  }
  Example bare = padded;
  bare.memory = reorder_rows(padded.memory, words);
  const Trace trace = padded.attention.forward(padded.queries_from, padded.memory,
                                               padding_mask(padded.queries_from.shape(0), present));
  const Trace without = bare.attention.forward(bare.queries_from, bare.memory, all_zero_mask(bare));
  for (const std::size_t j : places_of(present, false)) {
    INFO("the padding in column " << j << " must get a weight of exactly 0");
    CHECK(all_zero(reorder_columns(trace.weights, {j})));
    CHECK(all_zero(reorder_columns(trace.weights_after_dropout, {j})));
  }
  CHECK_THAT(reorder_columns(trace.weights, words), equals(weights_of(bare, all_zero_mask(bare))));
  auto context = equals(context_of(bare, all_zero_mask(bare)));
  context.unless("the padding is read as if it were words",
                 context_of(padded, all_zero_mask(padded)));
  CHECK_THAT(trace.context, context);
  CHECK_THAT(trace.context, equals(without.context));
}

TEST_CASE("a mask that hides every token that answers leaves zeros") {
  const std::size_t T_k = GENERATE(as<std::size_t>{}, 1, 2, 6);
  const Example e = random_example(Sizes{0, 4, 3, 2, 520}, 3, T_k);
  const Trace trace =
      e.attention.forward(e.queries_from, e.memory, padding_mask(3, std::vector<bool>(T_k, false)));
  INFO(diagnosis(trace.weights));
  CHECK(all_zero(trace.weights));
  CHECK(all_zero(trace.context));
}

TEST_CASE("a token that may read nothing leaves the others as they are") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 521}, 4, 6);
  const Matrix mask =
      mask_where(4, 6, [](std::size_t i, std::size_t j) { return i == 1 || j == 5; });
  const Matrix others = mask_where(4, 6, [](std::size_t, std::size_t j) { return j == 5; });
  const Trace trace = e.attention.forward(e.queries_from, e.memory, mask);
  {
    INFO(diagnosis(row_of(trace.weights, 1)));
    CHECK(all_zero(row_of(trace.weights, 1)));
    CHECK(all_zero(row_of(trace.context, 1)));
  }
  INFO("row 1 may read nothing, rows 0, 2 and 3 may read tokens 0 to 4");
  const std::vector<std::size_t> rows = {0, 2, 3};
  CHECK_THAT(reorder_rows(trace.weights, rows), equals(reorder_rows(weights_of(e, others), rows)));
  CHECK_THAT(reorder_rows(trace.context, rows), equals(reorder_rows(context_of(e, others), rows)));
}

TEST_CASE("a mask of another shape is refused in a sentence") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 530}, 3, 5);
  const std::vector<std::pair<std::size_t, std::size_t>> wrong_shapes = {
      {5, 3}, {1, 5}, {3, 1}, {1, 1}, {4, 5}, {3, 4}, {3, 3}, {5, 5}, {0, 0}, {15, 1}};
  for (const auto& [rows, columns] : wrong_shapes) {
    const Matrix mask = all_zero_mask(rows, columns);
    INFO("three tokens ask five, and the mask is " << shape_text(mask) << ": only (3, 5) fits");
    const auto call = [&] { e.attention.forward(e.queries_from, e.memory, mask); };
    CHECK(throws_saying(call, "mask"));
    CHECK(throws_saying(call, shape_text(mask)));
    CHECK(throws_saying(call, "(3, 5)"));
  }
}

TEST_CASE("both sequences are refused by their place when a number is not finite") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 531}, 3, 5);
  const auto spoiled = [](const Matrix& m, std::size_t i, std::size_t j, Real number) {
    Matrix result = m;
    result(i, j) = number;
    return result;
  };
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  CHECK(throws_saying(
      [&] { e.attention.forward(spoiled(e.queries_from, 2, 1, nan), e.memory, all_zero_mask(e)); },
      "queries_from(2, 1) is nan"));
  CHECK(throws_saying(
      [&] { e.attention.forward(e.queries_from, spoiled(e.memory, 4, 3, nan), all_zero_mask(e)); },
      "memory(4, 3) is nan"));
  CHECK(throws_saying(
      [&] {
        e.attention.forward(e.queries_from, spoiled(e.memory, 0, 0, hidden), all_zero_mask(e));
      },
      "memory(0, 0) is -inf"));
}

TEST_CASE("sequences that do not fit the weights are refused with their shapes") {
  const Example e = random_example(Sizes{0, 4, 3, 2, 532}, 3, 5);
  CHECK(throws_saying(
      [&] { e.attention.forward(reference::make(3, 6), e.memory, all_zero_mask(e)); }, "(3, 6)"));
  CHECK(throws_saying(
      [&] { e.attention.forward(e.queries_from, reference::make(5, 6), all_zero_mask(e)); },
      "(5, 6)"));
}

TEST_CASE("scores of a thousand and below minus ten thousand stay shares across a rectangle") {
  const Matrix queries = {{10, 0, 0, 0}, {-10, 0, 0, 0}, {-200, 1, 0, 0}, {0, 0, 0, 0}};
  const Matrix keys = {{200, 0, 0, 0}, {200, 0, 0, 0}, {220, 1000, 0, 0}};
  const Matrix values = {{1, 2}, {3, 4}, {5, 6}};
  const Matrix weights = weights_of(queries, keys, all_zero_mask(4, 3));
  const Trace trace = attend(queries, keys, values, all_zero_mask(4, 3));
  INFO("softmax has to take the largest score of its row away before it raises e to it");
  CHECK_THAT(trace.weights, equals(weights));
  CHECK_THAT(trace.context, equals(reference::product(weights, values)));
}

TEST_CASE("dropout reaches the weights between two sequences and only while training") {
  const Example e = random_example(Sizes{0, 5, 3, 2, 541}, 8, 9);
  Generator generator(541);
  const auto pass_with = [&](const std::optional<Training>& training) {
    return e.attention.forward(e.queries_from, e.memory, all_zero_mask(e), training);
  };
  const Trace all_dropped = pass_with(Training{1, generator});
  INFO("forward has to pass training on to attend");
  CHECK(all_zero(all_dropped.context));
  CHECK_THAT(all_dropped.weights, equals(weights_of(e, all_zero_mask(e))));
  CHECK_THAT(pass_with({}).context, equals(context_of(e, all_zero_mask(e))));
  const Trace half = pass_with(Training{Real(0.5), generator});
  CHECK_THAT(half.context,
             equals(reference::product(half.weights_after_dropout,
                                       reference::product(e.memory, e.attention.W_value))));
}

TEST_CASE("PyTorch computes the same cross attention", "[B10]") {
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
