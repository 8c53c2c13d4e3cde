// Small charts by hand: lines in steps over time, a line for the objective, marks for decisions.
// Rules: what is not known is a gap, not a 0. A chart says its figures in words as well.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 150;
const TOP = 12;
const BOTTOM = 22;
const LEFT = 46;
const RIGHT = 10;
const NICE = [1, 2, 3, 4, 5, 6, 8, 10];

function draw(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

/** The least round number that is not below a value. */
export function ceiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return NICE.map((step) => step * power).find((step) => step >= value - 1e-9);
}

/** The path of a line in steps; a null is a gap. */
export function stepPath(points, end) {
  let path = "";
  let before = null;
  for (const [x, y] of points) {
    if (y === null) {
      if (before !== null) path += `H${x.toFixed(1)}`;
    } else if (before === null) path += `M${x.toFixed(1)} ${y.toFixed(1)}`;
    else path += `H${x.toFixed(1)}V${y.toFixed(1)}`;
    before = y;
  }
  return before === null ? path : `${path}H${end.toFixed(1)}`;
}

/**
 * `series`: {label, name, at: (sample) => value}; `limit`: {value, text}; `marks`: times;
 * `text`: how a value is said.
 */
export function chart(node, samples, { series, limit = null, marks = [], text, label, from, to }) {
  const width = Math.max(node.clientWidth, 220);
  const known = series.flatMap(({ at }) => samples.map(at)).filter((value) => value !== null);
  const top = ceiling(Math.max(...known, (limit?.value ?? 0) * 1.2, 0));
  const x = (time) => LEFT + ((Math.max(time, from) - from) / Math.max(to - from, 1)) * (width - LEFT - RIGHT);
  const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img" });
  for (const share of [0, 0.5, 1]) {
    const level = y(top * share);
    svg.append(draw("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: level, y2: level }));
    svg.append(draw("text", { x: LEFT - 8, y: level + 4, "text-anchor": "end" }, text(top * share)));
  }
  for (const [time, anchor] of [[from, "start"], [(from + to) / 2, "middle"], [to, "end"]]) {
    const said = time === to ? "now" : new Date(time * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
    svg.append(draw("text", { x: x(time), y: HEIGHT - 5, "text-anchor": anchor }, said));
  }
  if (limit) {
    svg.append(draw("line", { class: "limit", x1: LEFT, x2: width - RIGHT, y1: y(limit.value), y2: y(limit.value) }));
    svg.append(draw("text", { class: "limit-text", x: width - RIGHT, y: y(limit.value) - 5, "text-anchor": "end" }, limit.text));
  }
  for (const time of marks.filter((each) => each >= from)) {
    svg.append(draw("path", { class: "mark", d: `M${x(time) - 4} ${TOP - 9}h8l-4 7z` }));
    svg.append(draw("line", { class: "mark-line", x1: x(time), x2: x(time), y1: TOP - 2, y2: HEIGHT - BOTTOM }));
  }
  series.forEach(({ name, at }) => {
    const path = stepPath(samples.map((each) => { const value = at(each); return [x(each[0]), value === null ? null : y(value)]; }), x(to));
    if (path) svg.append(draw("path", { class: `line ${name}`, d: path }));
  });
  const said = series.map(({ label: each, at }) => {
    const values = samples.map(at).filter((value) => value !== null);
    return values.length ? `${each} ${text(values.at(-1))} now, at most ${text(Math.max(...values))}` : `${each} not known`;
  });
  svg.setAttribute("aria-label", `${label}: ${said.join("; ")}${limit ? `; ${limit.text}` : ""}`);
  node.replaceChildren(svg);
}
