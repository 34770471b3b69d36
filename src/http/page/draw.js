// Elements, lists and charts. Text goes in as text: nothing here reads markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; strings become text. */
export function h(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for a part of a picture. */
export function s(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Sets a text, if it is another one. */
export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

/** Sets an attribute, if it is another one; null takes it away. */
export function attribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Keeps one child per item, by key, in the order of the items. `make` gives an object with `element`. */
export function each(parent, items, keyOf, make, update) {
  const known = (parent.known ??= new Map());
  const keys = new Set(items.map(keyOf));
  for (const [key, part] of known) {
    if (!keys.has(key)) {
      part.element.remove();
      known.delete(key);
    }
  }
  items.forEach((item, position) => {
    const key = keyOf(item);
    let part = known.get(key);
    if (!part) known.set(key, (part = make(item)));
    if (parent.children[position] !== part.element) parent.insertBefore(part.element, parent.children[position] ?? null);
    update(part, item);
  });
}

/** A bar of shares: `parts` are class names in order. */
export function bar(parts, label) {
  const pieces = parts.map((part) => s("rect", { class: part, y: "0", height: "1" }));
  const element = s("svg", { class: "bar", viewBox: "0 0 1 1", preserveAspectRatio: "none", role: "img" }, ...pieces);
  return {
    element,
    set(shares, words) {
      let from = 0;
      shares.forEach((share, i) => {
        const width = Math.max(0, Math.min(share, 1 - from));
        attribute(pieces[i], "x", from.toFixed(4));
        attribute(pieces[i], "width", width.toFixed(4));
        from += width;
      });
      attribute(element, "aria-label", `${label}: ${words}`);
    },
  };
}

const WIDTH = 120;
const HEIGHT = 40;

/** A chart of the last minutes; points are numbers or null. The newest is at the right edge. */
export function chart(label, slots = 120) {
  const area = s("path", { class: "area" });
  const line = s("path", { class: "line" });
  const element = s(
    "svg",
    { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" },
    area,
    line,
  );
  return {
    element,
    set(points, max, words) {
      const top = max ?? Math.max(1e-9, ...points.filter((point) => point !== null)) * 1.1;
      const x = (i) => (WIDTH * (slots - points.length + i)) / (slots - 1);
      const y = (point) => HEIGHT - 1 - ((HEIGHT - 3) * Math.min(point, top)) / top;
      let lines = "";
      let areas = "";
      runs(points).forEach(([from, to]) => {
        const path = [];
        for (let i = from; i <= to; i += 1) path.push(`${x(i).toFixed(1)} ${y(points[i]).toFixed(1)}`);
        // A single point is a short dash.
        if (from === to) path.push(`${(x(from) + 0.8).toFixed(1)} ${y(points[from]).toFixed(1)}`);
        lines += `M${path.join("L")}`;
        areas += `M${x(from).toFixed(1)} ${HEIGHT}L${path.join("L")}L${x(to).toFixed(1)} ${HEIGHT}Z`;
      });
      attribute(line, "d", lines);
      attribute(area, "d", areas);
      attribute(element, "aria-label", `${label}: ${words}`);
    },
  };
}

/** First and last index of each run of points without a gap. */
function runs(points) {
  const found = [];
  points.forEach((point, i) => {
    if (point === null) return;
    const last = found.at(-1);
    if (last && last[1] === i - 1) last[1] = i;
    else found.push([i, i]);
  });
  return found;
}

/** Upper bounds of the levels of load, in multiples of the mean. */
export const LEVELS = [0, 0.25, 0.5, 0.8, 1.25, 1.8, 2.5, 4, Infinity];

export const level = (load, mean) => LEVELS.findIndex((bound) => load <= bound * mean);

/** Cells side by side, coloured by load. `point` is told which cell the pointer is at, or null. */
export function strip(point) {
  const element = s("svg", { class: "strip", preserveAspectRatio: "none", role: "img" });
  let cells = [];
  const at = (event) => {
    const box = element.getBoundingClientRect();
    const cell = Math.floor(((event.clientX - box.left) / box.width) * cells.length);
    point(Math.max(0, Math.min(cells.length - 1, cell)));
  };
  element.addEventListener("pointermove", at);
  element.addEventListener("pointerdown", at);
  element.addEventListener("pointerleave", () => point(null));
  return {
    element,
    set(loads, mean, words) {
      if (cells.length !== loads.length) {
        cells = loads.map((_, i) => s("rect", { x: i + 0.06, y: "0", width: "0.88", height: "1" }));
        element.replaceChildren(...cells);
        attribute(element, "viewBox", `0 0 ${Math.max(1, loads.length)} 1`);
      }
      loads.forEach((load, i) => attribute(cells[i], "class", `load-${level(load, mean)}`));
      attribute(element, "aria-label", words);
    },
  };
}
