// Chapter 04: the mask, another word, and dropout.

const shares = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

function moved_text(moved, place, tokens, other) {
  if (!other) return "Type another word, and see which rows of the context hear of it.";
  const change = `${quoted(tokens[place])} is now ${quoted(other)}: `;
  const kept = tokens.map((_, row) => row).filter((row) => !moved.includes(row));
  if (!moved.length) return `${change}no row of the context moves.`;
  return `${change}${rows_text(moved)} of the context ${moved.length === 1 ? "moves" : "move"}` +
    (kept.length ? `; ${rows_text(kept)} ${kept.length === 1 ? "keeps" : "keep"} every bit.` : ", every one.");
}

live_figures("04", {
  causal_mask: {
    caption: "Your words under the causal mask. The rows of the context that another word moves are marked.",
    play(stage) {
      const pass = stage.question("masked", "string", "number", "string", "number", "boolean", "number", "number");
      const words = stage.sentence("Your words", "draw a map");
      const place = stage.place("Exchange word");
      const other = stage.sentence("for", "");
      const mask = stage.toggle("Causal mask", true);
      const dropout = stage.slider("Dropout while training", shares, 0, (share) => `${Math.round(100 * share)} %`);
      let draw = 42;
      const again = stage.button("Drop others", () => { draw += 1; });
      const seed = stage.count("Seed of the weights", 42);
      const masked = stage.map("scaled scores with the mask");
      const weights = stage.map("weights", { full: 1 });
      const kept = stage.map("weights that dropout leaves", { full: 1 });
      const context = stage.map("context", { verb: "has in" });
      stage.on_change(() => {
        const ask = (word) => pass(words.value, place.value, word, seed.value, mask.value, dropout.value, draw);
        const before = ask("");
        const tokens = before.trace.weights.rows;
        place.offer(tokens);
        const word = other.value.trim();
        const after = ask(word);
        masked.show(after.trace.masked);
        weights.show(after.trace.weights);
        kept.show(after.training.weights_after_dropout);
        for (const element of [weights_after_dropout.element, again]) element.hidden = dropout.value === 0;
        context.show(after.trace.context);
        const moved = rows_that_differ(before.trace.context, after.trace.context);
        context.mark(moved);
        return moved_text(moved, place.value, tokens, word) + stage.cut(tokens.length);
      });
    },
  },
});
