// What the live figures share: how they ask the chapter's C++, their controls, and their heat maps.
// docs/live/build puts this between the compiled chapter (load_chapter) and the chapter's own figures.

const most_shown = 32;        // rows and columns of a map: more would be no map but a wall
const most_with_numbers = 12; // a map with more shows colours, and the number of the cell that is pointed at

/** The input is at fault; the sentence is C++'s. */
class Refusal extends Error {}

// --- small things ------------------------------------------------------------------------------

/** An element with its attributes and what is in it. Text goes in as text, never as HTML. */
function make(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

function make_svg(name, attributes = {}, ...content) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

/** An entry of the JSON as a number: infinities come as words. */
function number_of(entry) {
  if (entry === "inf") return Infinity;
  return entry === "-inf" ? -Infinity : entry;
}

function number_text(entry, decimals) {
  const value = number_of(entry);
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const quoted = (word) => `“${[...word].length > 20 ? [...word].slice(0, 19).join("") + "…" : word}”`;

/** "row 3", "rows 1 and 2", "rows 1, 2 and 4"; counted from 1. */
function rows_text(rows) {
  const names = rows.map((row) => String(row + 1));
  const last = names.pop();
  return names.length ? `rows ${names.join(", ")} and ${last}` : `row ${last}`;
}

/** The rows in which two matrices of the JSON differ, be it by one bit. */
function rows_that_differ(a, b) {
  const all = a.values.map((_, i) => i);
  return all.filter((i) => JSON.stringify(a.values[i]) !== JSON.stringify(b.values[i]));
}

// --- a heat map --------------------------------------------------------------------------------

/** A matrix as a table of coloured cells, in which the arrow keys move from cell to cell. */
class HeatMap {
  /**
   * @param title    the caption above it
   * @param options  decimals: of the numbers in the cells; full: the value that gets the full colour, 0 for the largest
   *                 there is; verb: what a row does to a column; twins: whether (j, i) is lit with (i, j);
   *                 group: columns between two lines
   */
  constructor(stage, title, options = {}) {
    this.stage = stage;
    this.options = { decimals: 2, full: 0, verb: "reads", twins: false, group: 0, ...options };
    this.caption = make("caption", {}, title);
    this.head = make("thead");
    this.body = make("tbody");
    this.table = make("table", { role: "grid" }, this.caption, this.head, this.body);
    this.element = make("div", { class: "live-map" }, this.table);
    this.cells = [];
    this.listen();
  }

  get title() { return this.caption.textContent; }
  set title(text) { this.caption.textContent = text; }

  /** Shows a matrix of the JSON. Where the labels stay the same, the cells and the focus stay as well. */
  show(matrix) {
    this.matrix = matrix;
    const shape = JSON.stringify([matrix.rows.slice(0, most_shown), matrix.columns.slice(0, most_shown)]);
    if (shape !== this.shape) this.lay_out(shape);
    const finite = matrix.values.flat().map(number_of).filter(Number.isFinite);
    const largest = this.options.full || finite.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    this.cells.forEach((row, i) => row.forEach((cell, j) => this.paint(cell, matrix.values[i][j], largest)));
  }

  lay_out(shape) {
    this.shape = shape;
    const [rows, columns] = JSON.parse(shape);
    const size = Math.max(rows.length, columns.length);
    this.element.classList.toggle("live-small", size > most_with_numbers);
    this.cells = rows.map(() => columns.map((_, j) => this.cell(j)));
    this.head.replaceChildren(make("tr", {}, make("td"), ...columns.map((name) => this.label("col", name))));
    this.body.replaceChildren(
      ...rows.map((name, i) => make("tr", {}, this.label("row", name), ...this.cells[i])));
    if (this.cells.length && this.cells[0].length) this.cells[0][0].tabIndex = 0;
  }

  label(scope, name) {
    return make("th", { scope, title: name }, make("span", { class: "live-word" }, name));
  }

  cell(j) {
    const divides = this.options.group && j && j % this.options.group === 0;
    return make("td", { tabindex: -1, class: divides ? "live-divides" : "" }, make("span"));
  }

  paint(cell, entry, largest) {
    const color = this.stage.color_of(number_of(entry), largest);
    cell.dataset.value = entry;
    cell.firstChild.textContent = number_text(entry, this.options.decimals);
    cell.style.backgroundColor = "#" + color.toString(16).padStart(6, "0");
    cell.style.color = this.stage.black_on(color) ? "#000" : "#fff";
  }

  /** Gives rows a mark at their beginning; the others lose it. */
  mark(rows) {
    [...this.body.rows].forEach((row, i) => row.classList.toggle("live-moved", rows.includes(i)));
  }

  // Pointing: by mouse and finger, and by keyboard.

  listen() {
    this.table.addEventListener("pointerover", (event) => this.stage.point(this, this.place_of(event.target)));
    this.table.addEventListener("pointerleave", () => this.stage.point(this, this.place_of(document.activeElement)));
    this.table.addEventListener("focusin", (event) => this.take_focus(event.target));
    this.table.addEventListener("focusout", () => this.stage.point(this, null));
    this.table.addEventListener("click", (event) => this.focus(this.place_of(event.target)));
    this.table.addEventListener("keydown", (event) => this.press(event));
  }

  place_of(target) {
    const cell = target instanceof Element ? target.closest("td") : null;
    const i = this.cells.findIndex((row) => row.includes(cell));
    return i < 0 ? null : { i, j: this.cells[i].indexOf(cell) };
  }

  focus(place) {
    if (place) this.cells[place.i][place.j].focus();
  }

  take_focus(target) {
    const place = this.place_of(target);
    if (!place) return;
    for (const cell of this.cells.flat()) cell.tabIndex = -1;
    target.tabIndex = 0;
    this.stage.point(this, place);
  }

  press(event) {
    const place = this.place_of(event.target);
    const last = { i: this.cells.length - 1, j: this.cells[0].length - 1 };
    const moves = {
      ArrowUp: { i: -1 }, ArrowDown: { i: 1 }, ArrowLeft: { j: -1 }, ArrowRight: { j: 1 },
      Home: { j: -last.j }, End: { j: last.j },
    };
    const move = moves[event.key];
    if (!place || !move) return;
    event.preventDefault();
    const within = (value, most) => Math.min(most, Math.max(0, value));
    this.focus({ i: within(place.i + (move.i ?? 0), last.i), j: within(place.j + (move.j ?? 0), last.j) });
  }

  /** Lights a cell, and its twin; null puts the lights out. */
  light(place) {
    for (const cell of this.cells.flat()) cell.classList.remove("live-pointed", "live-twin");
    if (!place || !this.cells[place.i]?.[place.j]) return;
    this.cells[place.i][place.j].classList.add("live-pointed");
    if (this.options.twins && place.i !== place.j) this.cells[place.j][place.i].classList.add("live-twin");
  }

  /** The cell in words. */
  describe({ i, j }) {
    const { rows, columns, values } = this.matrix;
    const here = number_text(values[i][j], 4);
    const pair = (from, to) => `${quoted(from)} ${this.options.verb} ${quoted(to)}`;
    const words = `${this.title}: ${pair(rows[i], columns[j])}: ${here}.`;
    if (!this.options.twins) return words;
    if (i === j) return `${words} On the diagonal a cell is its own twin.`;
    const there = number_text(values[j][i], 4);
    const state = here === there ? "the same" : "not the same";
    return `${words} The twin, ${pair(rows[j], columns[i])}: ${there}, ${state}.`;
  }
}

/**
 * What was typed, as C++ can take it. Half of a surrogate pair, as of an emoji that is being deleted, becomes the sign
 * that browsers show for it; a NUL would end the text early.
 */
function well_formed(value) {
  if (typeof value !== "string") return value;
  const nul = value.indexOf("\0");
  if (nul >= 0) {
    const before = new TextEncoder().encode(value.slice(0, nul)).length;
    throw new Refusal(`the text has the control character U+0000 at byte ${before}`);
  }
  return value.replace(/\p{Surrogate}/gu, "\ufffd");
}

// --- the stage of a figure ---------------------------------------------------------------------

/** Where a figure is played: its controls, its maps, and the sentences about them. */
class Stage {
  constructor(figure, module) {
    this.figure = figure;
    this.module = module;
    this.color_of = module.cwrap("color_of", "number", ["number", "number"]);
    this.black_on = module.cwrap("black_on", "boolean", ["number"]);
    this.controls = make("div", { class: "live-controls" });
    this.maps = make("div", { class: "live-maps" });
    this.error = make("p", { class: "live-error", role: "alert" });
    this.status = make("p", { class: "live-status", role: "status" });
    this.pointed = make("p", { class: "live-pointed-at", "aria-live": "polite" });
    this.element = make("div", { class: "live-stage" },
      this.controls, this.error, this.maps, this.pointed, this.status);
    this.maps_shown = [];
  }

  /** A function of the chapter's C++, which answers with the JSON that the program prints. */
  question(name, ...types) {
    const call = this.module.cwrap(name, "string", types);
    return (...values) => {
      const answer = JSON.parse(call(...values.map(well_formed)));
      if (answer.error) throw new Refusal(answer.error);
      return answer;
    };
  }

  /** Names what happens whenever a control is moved: it shows the maps, and returns a sentence about them. */
  on_change(respond) {
    this.respond = respond;
    this.change();
  }

  change() {
    const start = performance.now();
    this.guarded(() => { this.status.textContent = this.respond(); });
    this.figure.dataset.milliseconds = (performance.now() - start).toFixed(2);
  }

  /** Does something; when the input is at fault, the reader is told. */
  guarded(action) {
    try {
      action();
      this.error.textContent = "";
    } catch (reason) {
      if (!(reason instanceof Refusal)) throw reason;
      this.error.textContent = reason.message;
    }
    this.element.classList.toggle("live-refused", this.error.textContent !== "");
  }

  /** Puts the stage and its caption in place of the static figure's, which speak of one sentence alone. */
  open(caption) {
    if (!this.maps_shown.length) this.pointed.remove();
    this.figure.replaceChildren(this.element, make("figcaption", {}, caption));
  }

  // Maps.

  map(title, options) {
    const map = new HeatMap(this, title, options);
    this.maps.append(map.element);
    this.maps_shown.push(map);
    return map;
  }

  remove(map) {
    map.element.remove();
    this.maps_shown = this.maps_shown.filter((other) => other !== map);
  }

  /** Lights a place in the map that is pointed at, and in those that have the same rows and columns. */
  point(map, place) {
    for (const other of this.maps_shown) {
      const alike = other === map || (map.options.twins && other.shape === map.shape);
      other.light(alike ? place : null);
    }
    this.pointed.textContent = place ? map.describe(place) : "";
  }

  /** Said where a text is longer than a map. */
  cut(T) {
    return T > most_shown ? ` All ${T} words are read; the maps show the first ${most_shown}.` : "";
  }

  // Controls. Each is an object with a `value`.

  sentence(label, text) {
    const attributes = { type: "text", value: text, autocomplete: "off", spellcheck: "false" };
    return this.input(label, attributes, "live-sentence");
  }

  /** A field for a text of many lines. */
  text(label, text, longest) {
    const area = make("textarea", { rows: 4, maxlength: longest, autocomplete: "off", spellcheck: "false" });
    area.value = text;
    return this.field(label, area, "live-text");
  }

  count(label, value) {
    const least = 0, most = 2147483647;
    const control = this.input(label, { type: "number", value, min: least, max: most, step: 1 });
    return { get value() { return Math.min(most, Math.max(least, Math.floor(Number(control.value)) || 0)); } };
  }

  input(label, attributes, kind = "") {
    return this.field(label, make("input", attributes), kind);
  }

  field(label, input, kind) {
    input.addEventListener("input", () => this.change());
    this.controls.append(make("label", { class: `live-field ${kind}` }, make("span", {}, label), input));
    return input;
  }

  toggle(label, on) {
    const input = make("input", { type: "checkbox", role: "switch" });
    input.checked = on;
    input.addEventListener("change", () => this.change());
    this.controls.append(make("label", { class: "live-toggle" }, input, make("span", {}, label)));
    return { get value() { return input.checked; } };
  }

  /** A slider over some values; `spoken` turns a value into what is shown and read out. */
  slider(label, values, value, spoken) {
    const shown = make("b");  // not an <output>: the label would be its label
    const input = make("input", { type: "range", min: 0, max: values.length - 1, value: values.indexOf(value) });
    const speak = () => {
      shown.textContent = spoken(values[input.value]);
      input.setAttribute("aria-valuetext", shown.textContent);
    };
    input.addEventListener("input", () => { speak(); this.change(); });
    speak();
    this.controls.append(make("label", { class: "live-field" }, make("span", {}, label, " ", shown), input));
    return {
      get value() { return values[input.value]; },
      set value(wanted) { input.value = values.indexOf(wanted); speak(); },
    };
  }

  /** Radio buttons: one of several words. */
  choice(legend, words, chosen) {
    const name = `live-choice-${Stage.choices++}`;
    const inputs = words.map((word) => make("input", { type: "radio", name, value: word }));
    inputs[words.indexOf(chosen)].checked = true;
    for (const input of inputs) input.addEventListener("change", () => this.change());
    const labels = inputs.map((input) => make("label", {}, input, make("span", {}, input.value)));
    this.controls.append(make("fieldset", { class: "live-choice" }, make("legend", {}, legend), ...labels));
    return { get value() { return inputs.find((input) => input.checked).value; } };
  }

  /** A list to choose a place from; its words are set by `offer`. */
  place(label) {
    const select = make("select");
    select.addEventListener("change", () => this.change());
    this.controls.append(make("label", { class: "live-field" }, make("span", {}, label), select));
    return {
      get value() { return Math.max(0, select.selectedIndex); },
      offer(words) {
        const names = words.map((word, i) => `${i + 1}: ${quoted(word)}`);
        if (names.join("\n") === [...select.options].map((option) => option.text).join("\n")) return;
        const stays = select.selectedIndex >= 0 && select.options.length === names.length;
        const chosen = stays ? select.selectedIndex : names.length - 1;
        select.replaceChildren(...names.map((name) => make("option", {}, name)));
        select.selectedIndex = chosen;
      },
    };
  }

  button(label, press) {
    const button = make("button", { type: "button", class: "live-button" }, label);
    button.addEventListener("click", () => { press(); this.change(); });
    this.controls.append(button);
    return button;
  }
}
Stage.choices = 0;

// --- from the static figure to the live one ----------------------------------------------------

/**
 * Brings a chapter's figures to life; those that cannot be stay as they are.
 * @param number   of the chapter, as in data-live="03-scaling"
 * @param figures  for each name its caption, and a function that gets a stage and fills it
 */
async function bring_to_life(number, figures) {
  const found = [...document.querySelectorAll(`figure.live[data-live^="${number}-"]`)];
  if (!found.length || typeof WebAssembly !== "object") return;
  const module = await load_chapter();
  for (const figure of found) {
    const live = figures[figure.dataset.live.slice(number.length + 1)];
    if (!live) continue;
    const stage = new Stage(figure, module);
    live.play(stage);
    stage.open(live.caption);
  }
}

/** The figures of a chapter, when the page is there. */
function live_figures(number, figures) {
  const start = () => bring_to_life(number, figures);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
