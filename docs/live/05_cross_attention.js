// Chapter 05: one sentence reads another.

live_figures("05", {
  attention: {
    caption: "A row for each word that asks, a column for each that answers. All weights are random.",
    play(stage) {
      const translate = stage.question("attention", "string", "string", "number", "boolean");
      const source = stage.sentence("The encoder's words", "the sky is blue");
      const target = stage.sentence("The decoder's words", "el cielo es azul");
      const seed = stage.count("Seed of the weights", 42);
      const positions = stage.toggle("Positions", true);
      const across = stage.map("decoder reads encoder", { full: 1 });
      const encoder = stage.map("encoder", { full: 1 });
      const decoder = stage.map("decoder", { full: 1 });
      stage.on_change(() => {
        const answer = translate(source.value, target.value, seed.value, positions.value);
        across.show(answer.across.weights);
        encoder.show(answer.encoder.weights);
        decoder.show(answer.decoder.weights);
        const [T_q, T_k] = answer.across.weights.shape;
        const form = T_q === T_k ? "happens to be square" : "is a rectangle";
        const asking = `${T_q} ${T_q === 1 ? "row asks" : "rows ask"}`;
        const answering = `${T_k} ${T_k === 1 ? "column answers" : "columns answer"}`;
        return `${asking}, ${answering}: ` +
          `the map between the two sentences ${form}.` + stage.cut(Math.max(T_q, T_k));
      });
    },
  },
});
