// Chapter 01: the scores of the reader's own sentence.

function first_repeated(words) {
  const second = words.findIndex((word, i) => words.indexOf(word) < i);
  return second < 0 ? null : { word: words[second], rows: [words.indexOf(words[second]), second] };
}

function repeated_text(words, on, identical) {
  const repeated = first_repeated(words);
  if (!repeated) return "";
  return ` ${quoted(repeated.word)} occurs more than once; with positions ${on ? "on" : "off"}, ` +
    `${rows_text(repeated.rows)} of the context are ${identical ? "identical" : "different"}.`;
}

live_figures("01", {
  attention: {
    caption: "Scores, weights and context of your words. Point at a score, and the same pair the other way round lights up with it.",
    play(stage) {
      const attend = stage.question("attention", "string", "boolean");
      const words = stage.sentence("Your words", "draw a map");
      const positions = stage.toggle("Positions", true);
      const scores = stage.map("scores", { twins: true, verb: "with" });
      const weights = stage.map("weights", { twins: true, full: 1, verb: "attends to" });
      const context = stage.map("context", { verb: "in" });
      stage.on_change(() => {
        const { trace, symmetry, lengths, repeated_on, repeated_off } = attend(words.value, positions.value);
        scores.show(trace.scores);
        weights.show(trace.weights);
        context.show(trace.context);
        const tokens = trace.scores.rows;
        const identical = positions.value ? !repeated_on?.different : repeated_off?.identical;
        return `The scores are ${symmetry.symmetric ? "" : "not "}symmetric, ` +
          `${symmetry.asymmetric_weights ? "the weights aren't" : "and so are the weights"}. ` +
          `${lengths.attend_to_themselves_most} of ${tokens.length} tokens attend to themselves most.` +
          repeated_text(tokens, positions.value, identical) + stage.cut(tokens.length);
      });
    },
  },
});
