// Chapter 04: the mask, an exchanged word, and dropout.

const probabilities = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

function changed_text(changed, position, tokens, other) {
  if (!other) return "Type another word, and see which rows of the context depend on it.";
  const change = `${quoted(tokens[position])} is now ${quoted(other)}: `;
  const kept = tokens.map((_, row) => row).filter((row) => !changed.includes(row));
  if (!changed.length) return `${change}no row of the context changes.`;
  return `${change}${rows_text(changed)} of the context ${changed.length === 1 ? "changes" : "change"}` +
    (kept.length ? `; ${rows_text(kept)} ${kept.length === 1 ? "keeps" : "keep"} every bit.` : ", every one.");
}

live_figures("04", {
  causal_mask: {
    caption: "Your words under the causal mask. The rows of the context that depend on an exchanged word are marked.",
    play(stage) {
      const forward = stage.question("masked", "string", "number", "string", "number", "boolean", "number", "number");
      const words = stage.sentence("Your words", "draw a map");
      const position = stage.place("Exchange word");
      const other = stage.sentence("for", "");
      const mask = stage.toggle("Causal mask", true);
      const dropout = stage.slider("Dropout while training", probabilities, 0, (p) => `${Math.round(100 * p)} %`);
      let draw = 42;
      const again = stage.button("New dropout mask", () => { draw += 1; });
      const seed = stage.count("Seed of the weights", 42);
      const masked = stage.map("scaled scores plus the mask");
      const weights = stage.map("weights", { full: 1 });
      const weights_after_dropout = stage.map("weights after dropout", { full: 1 });
      const context = stage.map("context", { verb: "has in" });
      stage.on_change(() => {
        const ask = (word) => forward(words.value, position.value, word, seed.value, mask.value, dropout.value, draw);
        const before = ask("");
        const tokens = before.trace.weights.rows;
        position.offer(tokens);
        const word = other.value.trim();
        const after = ask(word);
        masked.title = mask.value ? "scaled scores plus the mask" : "scaled scores, no mask";
        masked.show(after.trace.masked);
        weights.show(after.trace.weights);
        weights_after_dropout.show(after.training.weights_after_dropout);
        for (const element of [weights_after_dropout.element, again]) element.hidden = dropout.value === 0;
        context.title = dropout.value === 0 ? "context" : "context after dropout";
        context.show(after.training.context);
        const changed = rows_that_differ(before.training.context, after.training.context);
        context.mark(changed);
        return changed_text(changed, position.value, tokens, word) + stage.cut(tokens.length);
      });
    },
  },
});
