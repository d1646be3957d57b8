// Chapter 06: a map for each head, and the matrix that mixes them.

const head_dim = 2;  // columns of a head

live_figures("06", {
  heads: {
    caption: "A map of attention weights for each head, two columns of the context each, and what W_out makes of them.",
    play(stage) {
      const attend = stage.question("heads", "string", "number", "number", "boolean");
      const words = stage.sentence("Your words", "draw a map");
      const heads = stage.slider("Heads", [1, 2, 3, 4, 5, 6, 7, 8], 2, String);
      const seed = stage.count("Seed of the weights", 42);
      const positions = stage.toggle("Positions", true);
      const mixed = stage.toggle("Mix the heads with W_out", false);
      const maps = [];
      const context = stage.map("context: the heads side by side", { verb: "has in", group: head_dim });
      const W_out = stage.map("W_out", { verb: "goes into" });
      const output = stage.map("output = context W_out", { verb: "has in" });
      /** As many maps as there are heads, before the others. */
      const fit = (n_heads) => {
        while (maps.length > n_heads) stage.remove(maps.pop());
        while (maps.length < n_heads) {
          const map = stage.map(`head ${maps.length + 1}`, { full: 1 });
          context.element.before(map.element);
          maps.push(map);
        }
      };
      stage.on_change(() => {
        const answer = attend(words.value, heads.value, seed.value, positions.value);
        fit(heads.value);
        maps.forEach((map, h) => map.show(answer.loop[`weights_of_head_${h + 1}`]));
        context.show(answer.wide.context);
        W_out.show(answer.mixing.W_out);
        output.show(answer.wide.output);
        for (const map of [W_out, output]) map.element.hidden = !mixed.value;
        const [T, columns] = answer.wide.context.shape;
        const { context_columns, output_columns } = answer.independent;
        return `Give head 1 other values, and ${context_columns} of ${columns} columns of the context change, ` +
          `but ${output_columns} of ${columns} of the output: W_out lets each draw on all heads.` + stage.cut(T);
      });
    },
  },
});
