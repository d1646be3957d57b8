/// @file
/// @brief The demo of chapter 06: heads as a loop, heads as columns, and the projection that mixes
/// them.

#include "attention.hpp"

#include "common/command.hpp"

namespace {

constexpr std::size_t d_in = 2;

/// What this chapter lets the reader choose.
struct Choices {
  std::size_t heads = 2;
  std::size_t columns = 0;  // 0: two for each head

  std::size_t d_out() const { return columns == 0 ? 2 * heads : columns; }
};

Matrix all_zero_mask(std::size_t T) {
  return matrix(T, T);
}

/// The weights of one head that stands alone, drawn in the order of chapter 02.
struct HeadWeights {
  Matrix W_query;
  Matrix W_key;
  Matrix W_value;

  HeadWeights(std::size_t head_dim, Generator& generator)
      : W_query(linear_weights(d_in, head_dim, generator)),
        W_key(linear_weights(d_in, head_dim, generator)),
        W_value(linear_weights(d_in, head_dim, generator)) {}

  Trace forward(const Matrix& X, const Matrix& mask) const {
    return attend(matmul(X, W_query), matmul(X, W_key), matmul(X, W_value), mask);
  }
};

/// Two matrices side by side.
Matrix beside(const Matrix& left, const Matrix& right) {
  Matrix both = matrix(left.shape(0), left.shape(1) + right.shape(1));
  xt::view(both, xt::all(), xt::range(0, left.shape(1))) = left;
  xt::view(both, xt::all(), xt::range(left.shape(1), both.shape(1))) = right;
  return both;
}

/// The contexts of all heads, one head after the other.
Matrix context_by_loop(const std::vector<HeadWeights>& heads, const Matrix& X, const Matrix& mask) {
  Matrix context = matrix(X.shape(0), 0);
  for (const HeadWeights& head : heads) context = beside(context, head.forward(X, mask).context);
  return context;
}

/// The weights of separate heads as the columns of wide ones; W_out is drawn after them.
Attention joined(const std::vector<HeadWeights>& heads, std::size_t d_out, Generator& generator) {
  Attention wide(d_in, d_out, heads.size(), generator);
  const Matrix nothing = matrix(d_in, 0);
  wide.W_query = wide.W_key = wide.W_value = nothing;
  for (const HeadWeights& head : heads) {
    wide.W_query = beside(wide.W_query, head.W_query);
    wide.W_key = beside(wide.W_key, head.W_key);
    wide.W_value = beside(wide.W_value, head.W_value);
  }
  return wide;
}

void show_loop(const Sequence& input, const std::vector<HeadWeights>& heads, Report& report) {
  report.section("loop", "Heads one after the other");
  const Matrix mask = all_zero_mask(input.tokens.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    report.matrix({fmt::format("weights_of_head_{}", h + 1), "", input.tokens, input.tokens},
                  heads[h].forward(input.X, mask).weights);
  }
  const Matrix context = context_by_loop(heads, input.X, mask);
  report.matrix({"context", "the heads' contexts side by side", input.tokens,
                 numbered("z", context.shape(1))},
                context);
}

void show_one_head(const Sequence& input, const Options& options, Report& report) {
  report.section("one_head", "One head is chapter 03");
  Generator generator(options.seed);
  const HeadWeights head(d_in, generator);
  report.matrix({"context", "", input.tokens, numbered("z", d_in)},
                head.forward(input.X, all_zero_mask(input.tokens.size())).context);
}

MultiHeadTrace show_wide(const Sequence& input, const std::vector<HeadWeights>& heads,
                         const Attention& wide, Report& report) {
  report.section("wide", "The same heads as columns of wide weights");
  const Matrix mask = all_zero_mask(input.tokens.size());
  const std::size_t d_out = wide.W_value.shape(1);
  report.matrix({"W_query", "the heads' W_query side by side", {}, numbered("q", d_out)},
                wide.W_query);
  const MultiHeadTrace trace = wide.forward(input.X, input.X, mask);
  report.matrix({"context", "the heads' contexts side by side", input.tokens, numbered("z", d_out)},
                trace.context);
  report.check("equal", nearly_equal(trace.context, context_by_loop(heads, input.X, mask)),
               "the loop gives the same");
  report.matrix({"output", "context W_out", input.tokens, numbered("o", d_out)}, trace.output);
  return trace;
}

std::size_t columns_moved(const Matrix& before, const Matrix& after) {
  std::size_t moved = 0;
  for (std::size_t j = 0; j < before.shape(1); ++j) {
    const Vector old_column = xt::view(before, xt::all(), j);
    const Vector new_column = xt::view(after, xt::all(), j);
    moved += old_column == new_column ? 0 : 1;
  }
  return moved;
}

void show_independence(const Sequence& input, const Attention& wide, Report& report) {
  report.section("independent", "What one head can change");
  const Matrix mask = all_zero_mask(input.tokens.size());
  Attention other = wide;
  const std::size_t head_dim = wide.W_value.shape(1) / wide.n_heads;
  xt::view(other.W_value, xt::all(), xt::range(0, head_dim)) += Real{1};
  const MultiHeadTrace before = wide.forward(input.X, input.X, mask);
  const MultiHeadTrace after = other.forward(input.X, input.X, mask);
  report.count("context_columns", columns_moved(before.context, after.context),
               fmt::format("of {} columns of the context move when head 1 gets other values",
                           before.context.shape(1)));
  report.count("output_columns", columns_moved(before.output, after.output),
               fmt::format("of {} columns of the output move", before.output.shape(1)));
}

void show_three_ways(const Sequence& input, const Attention& wide, const Options& options,
                     const Choices& choices, Report& report) {
  report.section("three_ways", "Three ways back to two columns");
  const Matrix mask = all_zero_mask(input.tokens.size());
  Generator generator(options.seed + 1);
  Attention narrowed = wide;
  narrowed.W_out = linear_weights(wide.W_value.shape(1), d_in, generator);
  report.matrix(
      {"by_W_out", fmt::format("context W_out, with W_out {}", shape_text(narrowed.W_out)),
       input.tokens, numbered("o", d_in)},
      narrowed.forward(input.X, input.X, mask).output);
  if (choices.heads == d_in) {
    Attention thin = wide;
    thin.W_value = linear_weights(d_in, choices.heads, generator);
    thin.W_out = linear_weights(choices.heads, d_in, generator);
    report.matrix({"by_values", "context, with one column of values for each head", input.tokens,
                   numbered("z", d_in)},
                  thin.forward(input.X, input.X, mask).context);
  }
  report.matrix({"as_it_is", "context, for a next layer that takes any width", input.tokens,
                 numbered("z", wide.W_value.shape(1))},
                wide.forward(input.X, input.X, mask).context);
}

void show_mask(const Sequence& input, const Attention& wide, Report& report) {
  report.section("masked", "The mask reaches every head");
  const MultiHeadTrace trace = wide.forward(input.X, input.X, causal_mask(input.tokens.size()));
  for (std::size_t h = 0; h < wide.n_heads; ++h) {
    report.matrix({fmt::format("weights_of_head_{}", h + 1), "", input.tokens, input.tokens},
                  trace.heads[h].weights);
  }
}

/// Four tokens that know their place and nothing else. One head reads the token before, one the
/// first.
void show_two_relations(Report& report) {
  report.section("relations", "Two relations at once");
  constexpr std::size_t T = 4;
  const Matrix places = xt::eye<Real>(T);
  Matrix before = Matrix({T, T}, 0);
  Matrix first = Matrix({T, T}, 0);
  for (std::size_t i = 0; i < T; ++i) {
    before(i, i == 0 ? 0 : i - 1) = 40;
    first(i, 0) = 40;
  }
  const Matrix mask = all_zero_mask(T);
  const Labels tokens = numbered("token ", T);
  report.matrix({"before", "weights of a head that reads the token before", tokens, tokens, 2},
                attend(before, places, places, mask).weights);
  report.matrix({"first", "weights of a head that reads the first token", tokens, tokens, 2},
                attend(first, places, places, mask).weights);
  const Matrix sum = before + first;
  report.matrix({"single", "weights of one head that is to do both", tokens, tokens, 2},
                attend(sum, places, places, mask).weights);
}

void show_rebuilt(const Attention& wide, Report& report) {
  report.section("rebuilt", "The weights of attention are not learned");
  for (const auto& [key, text] :
       {std::pair("one_order", "draw a map"), std::pair("another", "map a draw")}) {
    const Sequence input = embed(split_words(text), d_in, true);
    const MultiHeadTrace trace = wide.forward(input.X, input.X, all_zero_mask(3));
    report.matrix(
        {key, fmt::format("weights of head 1 over {}", quoted(text)), input.tokens, input.tokens},
        trace.heads[0].weights);
  }
}

/// Counts for a layer of GPT-2's size, in which d_in = d_out = 768.
void show_cost(Report& report) {
  report.section("cost", "The number of heads costs nothing");
  constexpr std::size_t d = 768;
  constexpr std::size_t T = 1024;
  for (const std::size_t heads : {1U, 2U, 4U, 12U}) {
    const std::size_t head_dim = d / heads;
    const std::size_t parameters = heads * 3 * d * head_dim + heads * head_dim * d;
    const std::size_t projections = T * parameters;
    const std::size_t scores_and_blends = heads * 2 * T * T * head_dim;
    report.count(fmt::format("parameters_{}", heads), parameters,
                 fmt::format("weights with n_heads = {}", heads));
    report.count(fmt::format("products_{}", heads), projections + scores_and_blends,
                 fmt::format("multiplications for {} tokens with n_heads = {}", grouped(T), heads));
  }
}

/// Every head keeps a record of its own: five matrices of T x T numbers.
void require_room(std::size_t T, std::size_t heads) {
  constexpr std::size_t most = 4 * max_tokens * max_tokens;
  if (heads * T * T > most) {
    throw std::invalid_argument(fmt::format(
        "{0} heads over {1} tokens keep {2} matrices of {1} x {1} numbers; at most {3} tokens fit "
        "with {0} heads",
        heads, grouped(T), grouped(5 * heads),
        grouped(static_cast<std::size_t>(std::sqrt(static_cast<double>(most / heads))))));
  }
}

void demonstrate(const Options& options, const Choices& choices, Report& report) {
  require_divisible(choices.d_out(), "columns (--d-out)", choices.heads, "heads");
  const Sequence input = embed(split_words(options.text), d_in, options.positions);
  require_room(input.tokens.size(), choices.heads);
  Generator generator(options.seed);
  std::vector<HeadWeights> heads;
  for (std::size_t h = 0; h < choices.heads; ++h)
    heads.emplace_back(choices.d_out() / choices.heads, generator);
  const Attention wide = joined(heads, choices.d_out(), generator);
  show_loop(input, heads, report);
  show_one_head(input, options, report);
  const MultiHeadTrace trace = show_wide(input, heads, wide, report);
  const Sequence few = first_tokens(input, 16);
  show_independence(few, wide, report);
  show_three_ways(few, wide, options, choices, report);
  show_mask(input, wide, report);
  show_two_relations(report);
  show_rebuilt(wide, report);
  show_cost(report);
  for (std::size_t h = 0; h < choices.heads; ++h) {
    report.panel(fmt::format("head {}", h + 1), trace.heads[h].weights, input.tokens, input.tokens,
                 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  Command command("06_multi_head", "Chapter 06: several heads side by side, step by step.");
  command.add_count("--heads", choices.heads, "Number of heads", 1, 64);
  command.add_count("--d-out", choices.columns,
                    "Columns, a multiple of --heads; 0: two for each head", 0, 4096);
  return command.run(argc, argv, [&](const Options& options, Report& report) {
    demonstrate(options, choices, report);
  });
}
