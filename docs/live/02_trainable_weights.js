// Chapter 02: one weight matrix, and two.

live_figures("02", {
  symmetry: {
    caption: "The scores of your words through one weight matrix, and through two.",
    play(stage) {
      const project = stage.question("symmetry", "string", "number", "boolean");
      const words = stage.sentence("Your words", "draw a map");
      const seed = stage.count("Seed of the weights", 42);
      const positions = stage.toggle("Positions", true);
      const one = stage.map("scores, one W", { twins: true, verb: "asks" });
      const two = stage.map("scores, W_query and W_key", { twins: true, verb: "asks" });
      const state = (symmetric) => (symmetric ? "symmetric" : "not symmetric");
      stage.on_change(() => {
        const { one_weight, trace, asymmetry } = project(words.value, seed.value, positions.value);
        one.show(one_weight.scores);
        two.show(trace.scores);
        const tokens = trace.scores.rows;
        const [first, last] = [quoted(tokens[0]), quoted(tokens[tokens.length - 1])];
        return `Through one W the scores are ${state(one_weight.symmetric)}, whatever W is; ` +
          `through W_query and W_key ${state(asymmetry.symmetric)}: ` +
          `${first} asks ${last} ${number_text(asymmetry.first_asks_last, 4)}, ` +
          `${last} asks ${first} ${number_text(asymmetry.last_asks_first, 4)}.` + stage.cut(tokens.length);
      });
    },
  },
});
