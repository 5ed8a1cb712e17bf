// The table of steps: sorted by a click on a column's title, filtered by words, with all details on demand.
function margin(op) {
  const why = op.why;
  if (!why || !why.measured || !why.runner_up_measured || !(why.cost_ms > 0)) return null;
  return why.runner_up_ms / why.cost_ms - 1;
}

const stepName = shortener(data.ops.map(op => distinctLabel(op)), 36);
const operatorColumns = [
  {title: "Step", of: op => op.node, cell: op => el("button", {type: "button", class: "name", title: op.node, "aria-expanded": "false",
    onclick: () => operators.toggle(op.index)}, breakable(stepName(distinctLabel(op))))},
  {title: "Operator", of: op => op.op, class: "wide", cell: op => breakable(operatorsText(op.op))},
  {title: "ms", of: op => op.ms, number: true, cell: op => {
    const bar = el("span", {class: "bar"});
    bar.style.width = `${Math.max(1, 60 * op.ms / data.slowest_ms)}px`;
    return el("span", {}, msText(op.ms), bar);
  }},
  {title: "share", of: op => op.ms, number: true, cell: op => percent(op.ms / data.steps_ms)},
  {title: "roof", of: op => op.roofline_share, number: true, cell: op => percent(op.roofline_share)},
  {title: "Kernel", of: op => op.kernel, class: "wide", cell: op => breakable(op.kernel)},
  {title: "Layouts", of: op => `${op.layout_in} ${op.layout_out}`, class: "wide",
    cell: op => op.layout_in === op.layout_out ? op.layout_in : `${op.layout_in} → ${op.layout_out}`},
  {title: "Type", of: op => op.dtype, class: "wide", cell: op => op.dtype},
  {title: "Device", of: op => op.device, class: "wide", cell: op => op.device},
  {title: "Runner-up", of: op => op.why && op.why.runner_up || "", class: "wide",
    cell: op => op.why && op.why.runner_up ? breakable(op.why.runner_up.split(" ")[0]) : "–"},
  {title: "margin", of: op => margin(op) ?? -1, number: true, class: "wide", cell: op => percent(margin(op))},
].filter(column => column.title !== "Device" || new Set(data.ops.map(op => op.device)).size > 1);

function whyText(op) {
  const why = op.why;
  if (op.op === "Convert") return "Makes the layout that the next step reads.";
  if (!why) return "It runs as a part of the network whose shapes depend on data, or by a plan of another version.";
  const us = ms => `${digits(ms * 1e3, 4)} µs`;
  if (why.choices === 1) return "Nothing else can compute it here.";
  if (!why.measured)
    return `The kernels' own preference among ${why.choices} choices: none of this was measured on this device. ` +
      "Tuning measures it: fettle report --budget SECONDS.";
  const other = !why.runner_up ? "" : why.runner_up_measured ?
    `; the best other choice, ${why.runner_up}, took ${us(why.runner_up_ms)}` :
    `; the best other choice, ${why.runner_up}, cannot take less than ${us(why.runner_up_ms)}`;
  const cheaper = why.runner_up_measured && why.runner_up_ms < why.cost_ms ?
    " Alone that is faster; the conversions around it, or the network's own measurement, decide." : "";
  return `Measured ${us(why.cost_ms)} among ${why.choices} choices${other}.${cheaper}`;
}

// Kernels of other families say only that they compute something else: they come last.
function rejections(op) {
  if (!op.why || op.why.rejected.length === 0) return null;
  const family = name => name.split(".").slice(0, 2).join(".");
  const all = op.why.rejected.map(at => data.reasons[at]);
  const own = new Set([family(op.kernel), family(op.why.runner_up || op.kernel)]);
  const near = all.filter(one => own.has(family(one.kernel))), far = all.filter(one => !own.has(family(one.kernel)));
  const list = some => el("ul", {}, ...some.map(one => el("li", {}, el("code", {}, one.kernel), `: ${one.reason}`)));
  return el("div", {}, near.length ? list(near) : null,
    far.length ? el("details", {}, el("summary", {}, `${far.length} kernels of other families`), list(far)) : null);
}

function operatorDetails(op) {
  const why = op.why || {};
  const params = Object.entries(why.params || {}).map(([name, value]) => `${name} = ${value}`).join(", ");
  return facts([
    ["Step", op.node], ["Operator", op.op], ["Why", whyText(op)],
    ["Kernel", el("code", {}, op.kernel)], ["Parameters", params + (why.proposed_by ? ` (by ${why.proposed_by}, of ${why.evaluations} sets)` : "")],
    ["Runner-up", why.runner_up], ["Layouts", `${op.layout_in} → ${op.layout_out}`],
    ["Result", `${op.shape.join(" × ") || "scalar"}, ${op.dtype} on ${op.device}`], ["Threads", why.threads],
    ["Work", `${scaled(op.operations, "operations")} (limit: ${op.ceiling}), ${bytesText(op.least_bytes)} moved`],
    ["Reached", `${scaled(op.gflops * 1e9, "FLOP/s")}, ${scaled(op.gbps * 1e9, "B/s")}, ${percent(op.roofline_share)} of the roofline`],
    ["Rejected", rejections(op)],
  ]);
}

const operators = {
  column: 2, falling: true, rows: new Map(),
  start() {
    const table = byId("operator-table"), body = el("tbody");
    const head = operatorColumns.map((column, i) => el("th", {scope: "col", class: `${column.number ? "number" : ""} ${column.class || ""}`},
      el("button", {type: "button", onclick: () => this.sortBy(i)}, column.title)));
    table.append(el("thead", {}, el("tr", {}, ...head)), body);
    for (const op of data.ops) {
      const cells = operatorColumns.map(column => el("td", {class: `${column.number ? "number" : ""} ${column.class || ""}`}, column.cell(op)));
      const row = el("tr", {}, ...cells);
      const text = [op.node, op.op, op.kernel, op.layout_in, op.layout_out, op.dtype, op.device].join(" ").toLowerCase();
      this.rows.set(op.index, {op, row, text, details: null});
    }
    const kinds = Array.from(new Set(data.ops.map(op => op.op))).sort();
    byId("operator-kind").append(el("option", {value: ""}, "all"), ...kinds.map(kind => el("option", {value: kind}, operatorsText(kind))));
    byId("operator-filter").addEventListener("input", () => this.show());
    byId("operator-kind").addEventListener("change", () => this.show());
    this.body = body;
    this.show();
  },
  sortBy(i) {
    this.falling = i === this.column ? !this.falling : Boolean(operatorColumns[i].number);
    this.column = i;
    this.show();
  },
  show() {
    const {of} = operatorColumns[this.column], sign = this.falling ? -1 : 1;
    const words = byId("operator-filter").value.toLowerCase().split(/\s+/).filter(Boolean), kind = byId("operator-kind").value;
    const shown = Array.from(this.rows.values()).filter(({op, text}) => words.every(word => text.includes(word)) && (!kind || op.op === kind));
    shown.sort((a, b) => sign * d3.ascending(of(a.op), of(b.op)) || a.op.index - b.op.index);
    this.body.replaceChildren(...shown.flatMap(entry => entry.details ? [entry.row, entry.details] : [entry.row]));
    byId("operator-table").querySelectorAll("th").forEach((title, i) => {
      if (i === this.column) title.setAttribute("aria-sort", this.falling ? "descending" : "ascending");
      else title.removeAttribute("aria-sort");
    });
    const ms = d3.sum(shown, entry => entry.op.ms);
    byId("operator-count").textContent = `${shown.length} of ${data.ops.length} steps, ${msText(ms)} ms`;
  },
  toggle(index) {
    const entry = this.rows.get(index);
    entry.details = entry.details ? null :
      el("tr", {class: "details"}, el("td", {colspan: operatorColumns.length}, operatorDetails(entry.op)));
    entry.row.querySelector(".name").setAttribute("aria-expanded", String(Boolean(entry.details)));
    this.show();
  },
  open(index) {
    byId("operator-filter").value = byId("operator-kind").value = "";
    if (!this.rows.get(index).details) this.toggle(index);
    else this.show();
    this.rows.get(index).row.scrollIntoView({block: "center"});
    this.rows.get(index).row.querySelector(".name").focus({preventScroll: true});
  },
};
