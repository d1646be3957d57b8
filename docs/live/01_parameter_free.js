// Chapter 01: the scores of the reader's own sentence.

function first_repeated(words) {
  const second = words.findIndex((word, i) => words.indexOf(word) < i);
  return second < 0 ? null : { word: words[second], rows: [words.indexOf(words[second]), second] };
}

function repeated_text(words, on, section) {
  const repeated = first_repeated(words);
  if (!repeated) return "";
  const state = section.identical ? "identical" : "not identical";
  return ` ${quoted(repeated.word)} stands more than once; with positions ${on ? "on" : "off"}, ` +
    `${rows_text(repeated.rows)} of the context are ${state}.`;
}

live_figures("01", {
  attention: {
    caption: "Scores, weights and context of your words. Point at a score: its twin lights up.",
    play(stage) {
      const attend = stage.question("attention", "string", "boolean");
      const words = stage.sentence("Your words", "draw a map");
      const positions = stage.toggle("Positions", true);
      const scores = stage.map("scores", { twins: true });
      const weights = stage.map("weights", { twins: true, full: 1 });
      const context = stage.map("context", { verb: "has in" });
      stage.on_change(() => {
        const { trace, symmetry, repeated_on, repeated_off } = attend(words.value, positions.value);
        scores.show(trace.scores);
        weights.show(trace.weights);
        context.show(trace.context);
        const tokens = trace.scores.rows;
        return `The scores are ${symmetry.symmetric ? "" : "not "}symmetric. ` +
          `${symmetry.read_themselves_most} of ${tokens.length} words read themselves most.` +
          repeated_text(tokens, positions.value, repeated_on ?? repeated_off) + stage.cut(tokens.length);
      });
    },
  },
});
