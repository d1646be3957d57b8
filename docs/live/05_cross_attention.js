// Chapter 05: a decoder attends to an encoder's output.

live_figures("05", {
  attention: {
    caption: "Cross-attention: a row for each of the decoder's tokens, a column for each of the encoder's. All weights are random.",
    play(stage) {
      const translate = stage.question("attention", "string", "string", "number", "boolean");
      const source = stage.sentence("The encoder's words", "the sky is blue");
      const target = stage.sentence("The decoder's words", "el cielo es azul");
      const seed = stage.count("Seed of the weights", 42);
      const positions = stage.toggle("Positions", true);
      const cross = stage.map("cross-attention", { full: 1 });
      const encoder = stage.map("encoder", { full: 1 });
      const decoder = stage.map("decoder", { full: 1 });
      stage.on_change(() => {
        const answer = translate(source.value, target.value, seed.value, positions.value);
        cross.show(answer.cross.weights);
        encoder.show(answer.encoder.weights);
        decoder.show(answer.decoder.weights);
        const [T_q, T_k] = answer.cross.weights.shape;
        const queries = `${T_q} ${T_q === 1 ? "query" : "queries"}`;
        const keys = `${T_k} ${T_k === 1 ? "key" : "keys"}`;
        const form = T_q === T_k ? "The map happens to be square." : "The map is a rectangle.";
        return `${queries}, with the start token's, and ${keys}. ${form}` + stage.cut(Math.max(T_q, T_k));
      });
    },
  },
});
