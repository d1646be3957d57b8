// Chapter 07: a small model that learns to write while one looks on.

const slice = 30;         // milliseconds of training between two pictures of the page
const look_every = 50;    // steps between two looks at the validation loss
const write_every = 200;  // steps between two samples
const sample_length = 160;
const longest_text = 100000;

const default_text = [
  "A map shows where things are. The reader looks at a word, and the word looks at the others. Which of them does it " +
  "read? It asks each of them a question, and each of them has a key. Where the question and the key go well together " +
  "the score is high, and the word reads much of that one. Where they do not, the score is low, and it reads little.",
  "The scores of a row are numbers of any size. Softmax makes shares of them: none is below zero, and together they " +
  "are one. The shares are the weights. With the weights the values are blended, and the blend is the context of the " +
  "word. The word map reads the word draw, and the word draw reads the word map. The word a reads both of them.",
  "No word may read what comes after it. The mask hides the words that come later, so that the model has to guess " +
  "them. It guesses the next sign, and the next, and the next. At first it knows nothing, and each sign is as good as " +
  "another. Then it learns how often a sign comes. Then it learns which sign comes after which. Then it learns the " +
  "short words, and after them the long ones. The loss says how bad the guess was. The loss is high at the beginning, " +
  "and it falls.",
  "How does it learn? It guesses, and it looks at what really came. Then it goes back through all its layers and asks " +
  "each weight: what did you do to the loss? Each weight moves a little, so that the loss is a little lower the next " +
  "time. It does so again, and again, and again.",
  "A model that has read one page knows one page. It will say the words of the page again, and put them together in " +
  "ways that the page did not. This is how a small model writes: the words are there, and the sense is not. A larger " +
  "model that has read a larger text writes better, and it is made of the same parts: a question, a key, a value, a " +
  "mask, a norm, a sum, and a step against the slope.",
  ""].join("\n");

const whole = (number) => number.toLocaleString("en");

/** The losses over the steps, as a picture; in words for those who do not see it. */
class Curve {
  constructor() {
    this.grid = make_svg("g", { class: "live-grid" });
    this.train = make_svg("polyline", { class: "live-train" });
    this.validation = make_svg("polyline", { class: "live-validation" });
    this.element = make_svg("svg", { class: "live-curve", viewBox: "0 0 360 200", role: "img" },
      this.grid, this.train, this.validation);
  }

  /**
   * @param train, validation  lists of {step, loss}
   * @param last_step          where the axis ends
   */
  show(train, validation, last_step) {
    const highest = Math.ceil(Math.max(1, ...[...train, ...validation].map(({ loss }) => loss)));
    const x = (step) => 30 + 320 * step / last_step;
    const y = (loss) => 170 - 160 * loss / highest;
    const points = (list) => list.map(({ step, loss }) => `${x(step).toFixed(1)},${y(loss).toFixed(1)}`).join(" ");
    this.train.setAttribute("points", points(train));
    this.validation.setAttribute("points", points(validation));
    this.grid.replaceChildren(...this.losses(highest, x, y, last_step), ...this.steps(x, last_step));
    this.element.setAttribute("aria-label", this.in_words(train));
  }

  losses(highest, x, y, last_step) {
    const all = Array.from({ length: highest + 1 }, (_, loss) => loss);
    return all.flatMap((loss) => [
      make_svg("line", { x1: x(0), x2: x(last_step), y1: y(loss), y2: y(loss) }),
      make_svg("text", { x: x(0) - 8, y: y(loss) + 4, class: "live-left" }, String(loss)),
    ]);
  }

  steps(x, last_step) {
    return [
      ...[0, last_step / 2].map((step) => make_svg("text", { x: x(step), y: 188 }, whole(step))),
      make_svg("text", { x: x(last_step), y: 188, class: "live-left" }, `step ${whole(last_step)}`),
    ];
  }

  in_words(train) {
    if (!train.length) return "The loss over the steps of training; there are none yet.";
    const [first, last] = [train[0], train[train.length - 1]];
    return `The loss over the steps of training: it begins at ${first.loss.toFixed(2)}, and at step ` +
      `${whole(last.step)} it is ${last.loss.toFixed(2)}.`;
  }
}

/** The losses at the looks, for those who want numbers. */
class LossTable {
  constructor() {
    this.body = make("tbody");
    const names = ["step", "training", "validation"].map((name) => make("th", { scope: "col" }, name));
    const head = make("thead", {}, make("tr", {}, ...names));
    const table = make("table", { class: "live-losses" }, make("caption", {}, "Mean losses"), head, this.body);
    this.element = make("details", {}, make("summary", {}, "The losses as a table"), table);
  }

  clear() { this.body.replaceChildren(); }

  add(step, ...losses) {
    const cells = losses.map((loss) => make("td", { "data-value": loss }, loss.toFixed(4)));
    this.body.append(make("tr", {}, make("th", { scope: "row" }, whole(step)), ...cells));
  }
}

/** A run of training: C++ takes the steps, some at a time, and the page stays awake between them. */
class Run {
  constructor(stage) {
    this.stage = stage;
    this.begin = stage.question("begin", "string", "number");
    this.train_for = stage.question("train_for", "number", "number");
    this.look = stage.question("look");
    this.sample = stage.module.cwrap("sample", "string", ["number"]);
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.running = false;
    this.asked = null;  // the text and the seed that it began with
    this.lay_out();
  }

  lay_out() {
    this.button = this.stage.button("Train", () => this.toggle());
    this.stage.button("Restart", () => { this.asked = null; });
    this.curve = new Curve();
    this.table = new LossTable();
    this.count = make("p", { class: "live-count" });
    this.heading = make("p");
    this.written = make("p", { class: "live-written" });
    const legend = make("p", { class: "live-legend" }, make("span", { class: "live-train" }, "training"), " ",
      make("span", { class: "live-validation" }, "validation, on the last tenth of the text"));
    this.stage.maps.append(
      make("div", { class: "live-learning" }, this.count, this.curve.element, legend, this.table.element),
      make("div", { class: "live-writing" }, this.heading, this.written));
  }

  get finished() { return this.step >= this.last_step; }

  /** What a control asks for: another text or seed is another run. Returns a sentence about it. */
  respond(text, seed) {
    const asked = JSON.stringify([text, seed]);
    try {
      if (asked === this.asked) return this.in_words();
      const said = this.restart(text, seed);
      this.asked = asked;
      return said;
    } finally {
      this.name_button();
    }
  }

  /** Begins anew. The run before stays, and waits, when the text will not do. */
  restart(text, seed) {
    this.running = false;
    const { model } = this.begin(text, seed);
    Object.assign(this, { step: 0, last_step: model.steps, sum: 0, counted: 0, train: [] });
    this.validation = [{ step: 0, loss: this.look().look.validation }];
    this.table.clear();
    this.show_written("What it writes will stand here.", "");
    this.draw();
    return `A new model of ${whole(model.parameters)} weights, drawn by chance. It will learn from ` +
      `${whole(model.train)} characters, ${model.symbols} of them different, and be judged by ` +
      `${whole(model.validation)} others.`;
  }

  toggle() {
    if (this.finished) this.restart(...JSON.parse(this.asked));
    this.running = !this.running;
    if (this.running) this.go_on();
  }

  name_button() {
    this.button.textContent = this.running ? "Pause" : this.finished ? "Train again" : this.step ? "Go on" : "Train";
  }

  /** At the page's next picture; a page that is not looked at has none. */
  go_on() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (!this.running) return;
      this.running = false;  // should a step fail
      this.stage.guarded(() => this.take_steps());
      this.name_button();
    });
  }

  /** Some steps, to the next look at most. */
  take_steps() {
    if (!this.step) this.write();
    const next = Math.min(this.last_step, (Math.floor(this.step / look_every) + 1) * look_every);
    const { steps, count, sum } = this.train_for(slice, next).slice;
    Object.assign(this, { step: steps, sum: this.sum + sum, counted: this.counted + count, loss: sum / count });
    const looks = this.step === next;
    if (looks) this.take_a_look();
    if (looks || !this.still.matches) this.draw();
    this.running = !this.finished;
    if (looks && this.is_long()) this.stage.change();
    if (this.running) this.go_on();
  }

  /** Whether it is time to write, and to say how it goes. */
  is_long() { return this.finished || this.step % write_every === 0; }

  take_a_look() {
    const [train, { validation }] = [this.sum / this.counted, this.look().look];
    this.train.push({ step: this.step, loss: train });
    this.validation.push({ step: this.step, loss: validation });
    this.table.add(this.step, train, validation);
    Object.assign(this, { sum: 0, counted: 0 });
    if (this.is_long()) this.write();
  }

  write() {
    const when = this.step ? `after step ${whole(this.step)}` : "untrained";
    this.show_written(`What it writes ${when}:`, this.sample(sample_length));
  }

  show_written(heading, text) {
    this.heading.textContent = heading;
    this.written.textContent = text;
  }

  draw() {
    const place = `Step ${whole(this.step)} of ${whole(this.last_step)}`;
    this.count.textContent = this.step ? `${place}: loss ${this.loss.toFixed(2)}` : place;
    const young = this.counted ? [{ step: this.step, loss: this.sum / this.counted }] : [];
    this.curve.show([...this.train, ...young], this.validation, this.last_step);
  }

  in_words() {
    const [first, last] = [this.validation[0], this.validation[this.validation.length - 1]];
    const state = this.running ? "It learns." : this.finished ? "The training is over." : "It waits.";
    const begun = `The validation loss was ${first.loss.toFixed(2)} at the beginning`;
    return last === first ? `${state} ${begun}.`
      : `${state} ${begun}, and ${last.loss.toFixed(2)} after step ${whole(last.step)}.`;
  }
}

live_figures("07", {
  training: {
    caption: "A GPT-2 with two layers of width 32, which reads 32 characters at once, learns to write like your text.",
    play(stage) {
      const text = stage.text("Your text", default_text, longest_text);
      const seed = stage.count("Seed", 42);
      const run = new Run(stage);
      stage.on_change(() => run.respond(text.value, seed.value));
    },
  },
});
