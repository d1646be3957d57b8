/// @file
/// @brief The demo of chapter 06: heads as a loop, heads as columns, and the projection that mixes
/// them.

#include "attention.hpp"

#include <algorithm>
#include <functional>

#include "common/command.hpp"
#include "common/measure.hpp"

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

/// The projections of a single head, drawn in the order of chapter 02.
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

std::size_t columns_changed(const Matrix& before, const Matrix& after) {
  std::size_t changed = 0;
  for (std::size_t j = 0; j < before.shape(1); ++j) {
    const Vector old_column = xt::view(before, xt::all(), j);
    const Vector new_column = xt::view(after, xt::all(), j);
    changed += old_column == new_column ? 0 : 1;
  }
  return changed;
}

/// Each head's part of one row of the output: its context times its rows of W_out.
void show_parts(const Sequence& input, const Attention& wide, const MultiHeadTrace& trace,
                Report& report) {
  const std::size_t last = input.tokens.size() - 1;
  report.section("parts",
                 fmt::format("Where the output of {} comes from", quoted(input.tokens[last])));
  const std::size_t d_out = wide.W_value.shape(1);
  const std::size_t head_dim = d_out / wide.n_heads;
  Matrix parts = matrix(wide.n_heads + 1, d_out);
  Labels rows;
  for (std::size_t h = 0; h < wide.n_heads; ++h) {
    const Matrix own_rows =
        xt::view(wide.W_out, xt::range(h * head_dim, (h + 1) * head_dim), xt::all());
    xt::view(parts, xt::range(h, h + 1), xt::all()) =
        matmul(row_of(trace.heads[h].context, last), own_rows);
    rows.push_back(fmt::format("head {}", h + 1));
  }
  xt::view(parts, xt::range(wide.n_heads, wide.n_heads + 1), xt::all()) =
      row_of(trace.output, last);
  rows.push_back("output");
  report.matrix({"parts", "each head's context times its rows of W_out, and the output", rows,
                 numbered("o", d_out)},
                parts);
}

void show_independence(const Sequence& input, const Attention& wide, Report& report) {
  report.section("independent", "What one head can change");
  const Matrix mask = all_zero_mask(input.tokens.size());
  Attention changed = wide;
  const std::size_t head_dim = wide.W_value.shape(1) / wide.n_heads;
  xt::view(changed.W_value, xt::all(), xt::range(0, head_dim)) += Real{1};
  const MultiHeadTrace before = wide.forward(input.X, input.X, mask);
  const MultiHeadTrace after = changed.forward(input.X, input.X, mask);
  report.count("context_columns", columns_changed(before.context, after.context),
               fmt::format("of {} columns of the context change when head 1 gets other values",
                           before.context.shape(1)));
  report.count("output_columns", columns_changed(before.output, after.output),
               fmt::format("of {} columns of the output change", before.output.shape(1)));
}

void show_three_ways(const Sequence& input, const Attention& wide, const Options& options,
                     const Choices& choices, Report& report) {
  report.section("three_ways", "Three ways to return to two columns");
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

/// One head whose query for each token has 40 where `wanted` is, and whose keys are the identity.
Matrix queries_for(const std::vector<std::vector<std::size_t>>& wanted) {
  Matrix queries = matrix(wanted.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (const std::size_t j : wanted[i]) queries(i, j) = 40;
  }
  return queries;
}

/// Four tokens that encode only their position. "sold" needs the token before it and the one after.
void show_two_relations(Report& report) {
  report.section("relations", "Two relations at once");
  const Labels tokens = split_words("Ann sold Bob maps");
  const Matrix keys = xt::eye<Real>(tokens.size());
  const Matrix mask = all_zero_mask(tokens.size());
  const auto show = [&](const char* name, const char* what, const Matrix& queries) {
    report.matrix({name, what, tokens, tokens, 2}, attend(queries, keys, keys, mask).weights);
  };
  show("single", "weights of one head for both neighbours",
       queries_for({{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  show("before", "weights of a head for the token before", queries_for({{0}, {0}, {1}, {2}}));
  show("after", "weights of a head for the token after", queries_for({{1}, {2}, {3}, {3}}));
}

constexpr std::size_t n_names = 5;

/// The context of "sold" for a seller and a buyer, each one of five names as a one-hot value.
Matrix one_context(std::size_t seller, std::size_t buyer, Real weight) {
  Matrix context = matrix(1, n_names);
  context(0, seller) += weight;
  context(0, buyer) += 1 - weight;
  return context;
}

/// The same from two heads, side by side.
Matrix two_contexts(std::size_t seller, std::size_t buyer) {
  return beside(one_context(seller, seller, 1), one_context(buyer, buyer, 1));
}

Real distance(const Matrix& a, const Matrix& b) {
  return std::sqrt(xt::sum((a - b) * (a - b))());
}

/// How many of the 25 ordered pairs of seller and buyer have a context that no other pair has, not
/// counting twice; and how far the context moves when one of the two changes.
Matrix told_apart(const std::function<Matrix(std::size_t, std::size_t)>& context) {
  std::vector<Matrix> different;
  for (std::size_t seller = 0; seller < n_names; ++seller) {
    for (std::size_t buyer = 0; buyer < n_names; ++buyer) {
      const Matrix next = context(seller, buyer);
      const auto is_known = [&](const Matrix& known) { return nearly_equal(known, next); };
      if (std::none_of(different.begin(), different.end(), is_known)) different.push_back(next);
    }
  }
  return {{static_cast<Real>(different.size()), distance(context(0, 1), context(2, 1)),
           distance(context(0, 1), context(0, 2))}};
}

void show_uneven_weights(Report& report) {
  report.section("uneven", "One head with uneven weights, and two heads");
  const std::vector<Real> weights = {Real(0.5), Real(0.6), Real(0.7), Real(0.9)};
  Matrix table = matrix(weights.size() + 1, 3);
  for (std::size_t row = 0; row < weights.size(); ++row) {
    xt::view(table, xt::range(row, row + 1), xt::all()) =
        told_apart([&](std::size_t seller, std::size_t buyer) {
          return one_context(seller, buyer, weights[row]);
        });
  }
  xt::view(table, xt::range(weights.size(), weights.size() + 1), xt::all()) =
      told_apart(two_contexts);
  report.matrix({"pairs",
                 "contexts of 25 pairs, and their distance when one name changes",
                 {"5 : 5", "6 : 4", "7 : 3", "9 : 1", "two heads"},
                 {"contexts", "seller", "buyer"},
                 2},
                table);
  const Matrix ann_and_bob = {{1, 0}, {0, 1}};
  const Matrix others = {{Real(1.3), Real(-0.3)}, {Real(-0.7), Real(1.7)}};
  const Matrix uneven = {{Real(0.7), Real(0.3)}};
  report.matrix({"others", "two other values", {"seller", "buyer"}, numbered("v", 2), 1}, others);
  report.check("same_context", nearly_equal(matmul(uneven, others), matmul(uneven, ann_and_bob)),
               "7 : 3 gives them the context of (1, 0) and (0, 1)");
}

void show_rebuilt(const Attention& wide, Report& report) {
  report.section("rebuilt", "The attention weights aren't parameters");
  for (const auto& [key, text] :
       {std::pair("one_order", "draw a map"), std::pair("other_order", "map a draw")}) {
    const Sequence input = embed(split_words(text), d_in, true);
    const MultiHeadTrace trace = wide.forward(input.X, input.X, all_zero_mask(3));
    report.matrix(
        {key, fmt::format("weights of head 1 over {}", quoted(text)), input.tokens, input.tokens},
        trace.heads[0].weights);
  }
}

/// Counts for a layer of GPT-2's size, in which d_in = d_out = 768.
void show_cost(Report& report) {
  report.section("cost", "What more heads cost");
  constexpr std::size_t d = 768;
  constexpr std::size_t T = 1024;
  for (const std::size_t heads : {1U, 2U, 12U}) {
    const std::size_t head_dim = d / heads;
    const std::size_t parameters = heads * 3 * d * head_dim + heads * head_dim * d;
    const std::size_t projections = T * parameters;
    const std::size_t scores_and_sums = heads * 2 * T * T * head_dim;
    report.count(fmt::format("parameters_{}", heads), parameters,
                 fmt::format("parameters with n_heads = {}", heads));
    report.count(fmt::format("products_{}", heads), projections + scores_and_sums,
                 fmt::format("multiplications for {} tokens", grouped(T)));
    report.count(fmt::format("exponentials_{}", heads), heads * T * T,
                 "exponentials, and as many weights to keep");
  }
}

/// Every head keeps its own trace: five matrices of T x T.
void require_room(std::size_t T, std::size_t heads) {
  constexpr std::size_t most = 4 * max_tokens * max_tokens;
  if (heads * T * T > most) {
    throw std::invalid_argument(fmt::format(
        "{0} heads over {1} tokens keep {2} matrices of {1} x {1}; at most {3} tokens fit with {0} "
        "heads",
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
  show_two_relations(report);
  show_uneven_weights(report);
  show_loop(input, heads, report);
  show_one_head(input, options, report);
  const MultiHeadTrace trace = show_wide(input, heads, wide, report);
  show_parts(input, wide, trace, report);
  const Sequence few = first_tokens(input, 16);
  show_independence(few, wide, report);
  show_three_ways(few, wide, options, choices, report);
  show_mask(input, wide, report);
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
