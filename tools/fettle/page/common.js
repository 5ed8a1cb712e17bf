// What all parts of a page share: numbers for people, elements, the tooltip, the theme.
const data = JSON.parse(document.getElementById("data").textContent);

const byId = id => document.getElementById(id);

// "/f/f.0/f.0.0/Conv+/f/f.0/f.0.2/Clip" as "f.0.0/Conv": what exporters repeat says nothing. As StepLabel in report/terminal.h.
function label(nodes) {
  const parts = (nodes || "").split("+")[0].split("/");
  return parts.filter((part, i) => part && !(parts[i + 1] || "").startsWith(part + ".")).join("/");
}

// How often each of the texts is there.
function counted(texts) {
  const counts = new Map();
  for (const text of texts) counts.set(text, (counts.get(text) || 0) + 1);
  return counts;
}

// The same, where no other step has it; else all of the step's name, and its number where that does not tell it either: steps
// that convert may have none but their kernel's.
let labels = null, stepNames = null;
function distinctLabel(op) {
  labels = labels || counted(data.ops.map(one => label(one.node)));
  const nameOf = one => (labels.get(label(one.node)) > 1 ? one.node : label(one.node)) || one.kernel;
  stepNames = stepNames || counted(data.ops.map(nameOf));
  return stepNames.get(nameOf(op)) > 1 ? `${nameOf(op)} (${op.index + 1})` : nameOf(op);
}

function shorten(text, width, share = 3 / 5) {
  if (text.length <= width) return text;
  const head = Math.floor(width * share);
  return text.slice(0, head) + "…" + text.slice(text.length - (width - 1 - head));
}

// A function that shortens `names` to `width` letters and keeps different ones different: the cut lies where that holds for
// most of them, and the others stay whole.
function shortener(names, width) {
  const all = Array.from(new Set(names));
  let best = null;
  for (const share of [3 / 5, 2 / 5, 4 / 5, 1 / 5, 0]) {
    const counts = counted(all.map(name => shorten(name, width, share)));
    if (!best || counts.size > best.counts.size) best = {share, counts};
  }
  return name => {
    const short = shorten(name, width, best.share);
    return best.counts.get(short) > 1 ? name : short;
  };
}

// Text that a narrow cell may break behind its dots, slashes and pluses.
function breakable(text) {
  const parts = text.split(/(?<=[./+])/);
  return el("span", {}, ...parts.flatMap((part, i) => i ? [el("wbr"), part] : [part]));
}

// "DequantizeLinear+DequantizeLinear+Conv+QuantizeLinear" as "2 DequantizeLinear+Conv+QuantizeLinear".
function operatorsText(op) {
  const runs = [];
  for (const one of op.split("+")) {
    if (runs.length && runs[runs.length - 1].one === one) ++runs[runs.length - 1].count;
    else runs.push({one, count: 1});
  }
  return runs.map(({one, count}) => count > 1 ? `${count} ${one}` : one).join("+");
}

// What the operators of a step are called in one word: the first that does more than to change a type.
function kindOf(op) {
  const parts = op.split("+");
  return parts.find(one => !/^(Dequantize|Quantize|DynamicQuantize)Linear$|^Cast$/.test(one)) || parts[0];
}

const known = value => value !== null && value !== undefined;
const digits = (value, count) => value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(count - 1) : value.toLocaleString("en", {maximumSignificantDigits: count, useGrouping: false});
const msText = ms => !known(ms) ? "–" : ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(3);
const percent = share => !known(share) ? "–" : `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

function scaled(value, unit, base = 1000) {
  const prefixes = ["", "k", "M", "G", "T", "P"];
  let at = 0;
  while (value >= base && at + 1 < prefixes.length) { value /= base; ++at; }
  return `${digits(value, 3)} ${prefixes[at]}${unit}`;
}
const bytesText = bytes => scaled(bytes, "B");

// el("td", {class: "number"}, "text" or element ...)
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (known(value)) made.setAttribute(name, value);
  }
  made.append(...children.filter(known));
  return made;
}

function facts(pairs) {
  const list = el("dl");
  for (const [name, value] of pairs) if (known(value) && value !== "") list.append(el("dt", {}, name), el("dd", {}, value));
  return list;
}

function plainTable(titles, rows, caption) {
  const head = titles.map(title => el("th", {scope: "col", class: title.number ? "number" : null}, title.title));
  const body = rows.map(cells => el("tr", {}, ...cells.map((cell, i) =>
    el("td", {class: titles[i].number ? "number" : null, title: cell.title}, cell.text))));
  return el("table", {"aria-label": caption}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body));
}

const tooltip = {
  show(event, lines) {
    const box = byId("tooltip");
    box.replaceChildren(...lines.map((line, i) => el("div", {style: i ? null : "font-weight:600"}, line)));
    box.hidden = false;
    const {width, height} = box.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - width - 8);
    const y = event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18;
    box.style.left = `${Math.max(4, x)}px`;
    box.style.top = `${Math.max(4, y)}px`;
  },
  hide() { byId("tooltip").hidden = true; },
};

// A CSS variable of the theme in force.
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// The theme: the system's unless the button says otherwise. Charts are drawn again where it changes.
const theme = {
  modes: ["auto", "light", "dark"],
  mode: "auto",
  redraws: [],
  isDark() { return this.mode === "dark" || (this.mode === "auto" && matchMedia("(prefers-color-scheme: dark)").matches); },
  apply() {
    document.documentElement.dataset.theme = this.isDark() ? "dark" : "light";
    byId("theme").textContent = `Theme: ${this.mode}`;
    for (const redraw of this.redraws) redraw();
  },
  draw(redraw) { this.redraws.push(redraw); redraw(); },
  start() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.apply());
    byId("theme").addEventListener("click", () => {
      this.mode = this.modes[(this.modes.indexOf(this.mode) + 1) % this.modes.length];
      this.apply();
    });
    this.apply();
  },
};

// Colours of kinds, the most frequent ones first; what is left over shares grey.
function kindColours(kinds) {
  const counts = new Map();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) || 0) + 1);
  const order = Array.from(counts.keys()).sort((a, b) => counts.get(b) - counts.get(a));
  const palette = d3.schemeTableau10.filter((_, i) => i !== 9);
  const of = kind => { const at = order.indexOf(kind); return at < palette.length ? palette[at] : d3.schemeTableau10[9]; };
  return {order, of};
}

function drawLegend(box, entries) {
  box.replaceChildren(...entries.map(([name, fill]) => {
    const mark = el("i");
    mark.style.background = fill;
    return el("span", {}, mark, name);
  }));
}
