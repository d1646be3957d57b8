// Chapter 02: one weight matrix, and two.

live_figures("02", {
  symmetry: {
    caption: "The scores of your words with one weight matrix, and with two. Point at a score, and the same pair the other way round lights up with it.",
    play(stage) {
      const project = stage.question("symmetry", "string", "number", "boolean");
      const words = stage.sentence("Your words", "draw a map");
      const seed = stage.count("Seed of the weights", 42);
      const positions = stage.toggle("Positions", true);
      const one = stage.map("scores, one W", { twins: true, verb: "scores" });
      const two = stage.map("scores, W_query and W_key", { twins: true, verb: "scores" });
      const state = (symmetric) => (symmetric ? "symmetric" : "not symmetric");
      stage.on_change(() => {
        const { one_weight, trace, asymmetry } = project(words.value, seed.value, positions.value);
        one.show(one_weight.scores);
        two.show(trace.scores);
        const tokens = trace.scores.rows;
        const [first, last] = [quoted(tokens[0]), quoted(tokens[tokens.length - 1])];
        return `With one W the scores are ${state(one_weight.symmetric)}. ` +
          `With W_query and W_key they are ${state(!asymmetry.asymmetric)}: ` +
          `${first} scores ${last} ${number_text(asymmetry.first_to_last, 4)}, ` +
          `${last} scores ${first} ${number_text(asymmetry.last_to_first, 4)}.` + stage.cut(tokens.length);
      });
    },
  },
});
