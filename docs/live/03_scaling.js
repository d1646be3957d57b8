// Chapter 03: the third token's query, rotated; and the width, raised from 2 to 512.

const widths = [2, 4, 8, 16, 32, 64, 128, 256, 512];
const angles = Array.from({ length: 361 }, (_, i) => i - 180);
const third = 2;  // the row of token 3

/** The plane of queries and keys with two elements: the third query is an arrow that can be dragged. */
class Plane {
  /** @param rotate_to  gets the angle to which the arrow is dragged, in degrees from where it points unrotated */
  constructor(rotate_to) {
    this.keys = make_svg("g", { class: "live-keys" });
    this.arrow = make_svg("line", { class: "live-query", x1: 0, y1: 0 });
    this.handle = make_svg("circle", { class: "live-handle", r: 0.16 });
    this.element = make_svg("svg", { class: "live-plane", viewBox: "-1.8 -1.8 3.6 3.6", role: "img" },
      make_svg("path", { class: "live-axes", d: "M -1.7 0 H 1.7 M 0 -1.7 V 1.7" }), this.arrow, this.keys, this.handle);
    this.handle.addEventListener("pointerdown", (event) => this.handle.setPointerCapture(event.pointerId));
    this.handle.addEventListener("pointermove", (event) => {
      if (this.handle.hasPointerCapture(event.pointerId)) rotate_to(this.degrees_at(event) - this.unrotated);
    });
  }

  degrees_at(event) {
    const box = this.element.getBoundingClientRect();
    const x = event.clientX - (box.left + box.width / 2);
    const y = box.top + box.height / 2 - event.clientY;
    return Math.atan2(y, x) * 180 / Math.PI;
  }

  show(queries, keys, rotated) {
    const [x, y] = queries.values[third];
    this.unrotated = Math.atan2(y, x) * 180 / Math.PI - rotated;
    for (const [key, value] of Object.entries({ x2: x, y2: -y })) this.arrow.setAttribute(key, value);
    for (const [key, value] of Object.entries({ cx: x, cy: -y })) this.handle.setAttribute(key, value);
    this.keys.replaceChildren(...keys.values.flatMap(([x, y], i) => [
      make_svg("line", { x1: 0, y1: 0, x2: x, y2: -y }),
      make_svg("text", { x: 1.32 * x, y: -1.32 * y + 0.06 }, `key ${i + 1}`),
    ]));
    this.element.setAttribute("aria-label",
      `Token 3's query points to (${number_text(x, 2)}, ${number_text(y, 2)}); the keys point to ` +
      keys.values.map((key) => `(${key.join(", ")})`).join(", "));
  }
}

/** Rounded, and brought to -180 to 179. */
function whole_degrees(degrees) {
  return ((Math.round(degrees) + 180) % 360 + 360) % 360 - 180;
}

function rotated_text(angle, answer, unrotated) {
  const moved = rows_that_differ(answer.widened.weights, unrotated.widened.weights);
  const kept = [0, 1, 2].filter((row) => !moved.includes(row));
  if (!moved.length) return "The query isn't rotated.";
  return `Rotated by ${angle}°: ${rows_text(moved)} has changed, ${rows_text(kept)} keep every bit.`;
}

function width_text(d_k, answer, narrow) {
  const digits = ({ widened }) => widened.weights.values.flat().map((weight) => number_text(weight, 4)).join(" ");
  const row = `Row 3 gives ${answer.widened.weights.values[third].map(percent).join(", ")}.`;
  if (d_k === widths[0]) return row;
  const same = digits(answer) === digits(narrow);
  return `${row} At d_k = ${d_k} the weights have ${same ? "the same digits as" : "other digits than"} at d_k = 2.`;
}

live_figures("03", {
  scaling: {
    caption: "The worked example. Drag the arrow of token 3's query, or use the sliders.",
    play(stage) {
      const work = stage.question("scaling", "number", "number", "boolean");
      const angle = stage.slider("Rotate token 3's query", angles, 0, (degrees) => `${degrees}°`);
      const d_k = stage.slider("Width", widths, widths[0], (width) => `d_k = ${width}`);
      const scale = stage.toggle("Divide by √d_k", true);
      const view = stage.choice("Show", ["scores", "scaled", "weights"], "weights");
      const plane = new Plane((degrees) => {
        angle.value = whole_degrees(degrees);
        stage.change();
      });
      stage.maps.append(plane.element);
      const maps = { scores: {}, scaled: {}, weights: { full: 1 } };
      for (const name of Object.keys(maps)) maps[name] = stage.map(name, { decimals: 4, ...maps[name] });
      stage.on_change(() => {
        const answer = work(angle.value, d_k.value, scale.value);
        plane.show(answer.worked.queries, answer.worked.keys, angle.value);
        for (const [name, map] of Object.entries(maps)) {
          map.show(answer.widened[name]);
          map.element.hidden = name !== view.value;
        }
        return `${rotated_text(angle.value, answer, work(0, d_k.value, scale.value))} ` +
          `${width_text(d_k.value, answer, work(angle.value, widths[0], scale.value))}`;
      });
    },
  },
});
