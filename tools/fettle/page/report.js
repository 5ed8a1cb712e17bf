// The page of one model: the summary, the tables, and what draws the rest.
data.ops.forEach((op, index) => { op.index = index; });
data.steps_ms = d3.sum(data.ops, op => op.ms);
data.slowest_ms = Math.max(1e-9, d3.max(data.ops, op => op.ms) || 0);
const conversions = data.ops.filter(op => op.op === "Convert");

function gainCard() {
  const compared = data.comparison;
  if (!compared) return ["Gain over default", "1.00×", "this is the default plan"];
  const gain = 1 / compared.ratio;
  return ["Gain over default", `${gain.toFixed(2)}×`,
    `both plans in turns, 99 %: ${(1 / compared.high).toFixed(2)} to ${(1 / compared.low).toFixed(2)}`];
}

function accuracyCard() {
  if (!data.accuracy) return ["Accuracy", "–", "not compared"];
  const outputs = data.accuracy.outputs, good = outputs.every(output => output.ok);
  const least = d3.min(outputs, output => output.sqnr_db);
  return ["Accuracy", good ? "agrees" : "DIFFERS", known(least) ? `least signal to noise ${least.toFixed(0)} dB` : "with the reference"];
}

function drawCards() {
  const latency = data.latency_ms, memory = data.memory, spent = d3.sum(conversions, op => op.ms);
  const cards = [
    ["Latency", `${msText(latency.median)} ms`, `${msText(latency.min)} to ${msText(latency.p99)} (p99) in ${latency.runs} runs`],
    gainCard(),
    ["Share of roofline", percent(data.roofline_share), "of what this device can do at best"],
    ["Memory", bytesText(memory.arena_bytes + memory.device_bytes + memory.packed_bytes), `activations ${bytesText(memory.arena_bytes + memory.device_bytes)}, packed weights ${bytesText(memory.packed_bytes)}`],
    ["Conversions", percent(spent / (data.steps_ms || 1)), `${conversions.length} of ${data.ops.length} steps`],
    accuracyCard(),
    ["Start", `${msText(data.load_ms + data.prepare_ms)} ms`, `load ${msText(data.load_ms)}, prepare ${msText(data.prepare_ms)}, first run ${msText(data.first_ms)}`],
  ];
  byId("cards").append(...cards.map(([label, value, note]) => el("li", {}, el("span", {class: "label"}, label),
    el("span", {class: "value"}, value), el("span", {class: "note"}, note))));
}

function drawConversions() {
  const box = byId("conversion-table");
  if (conversions.length === 0) {
    box.append(el("p", {}, "None: every step reads what the one before it wrote, as it wrote it."));
    return;
  }
  const next = op => data.ops.filter(other => other.from.includes(op.index)).map(other => other.node).join(", ");
  const rows = conversions.slice().sort((a, b) => b.ms - a.ms).map(op => [
    {text: breakable(distinctLabel(op)), title: op.node}, {text: `${op.layout_in} → ${op.layout_out}`},
    {text: breakable(label(next(op)) || "the output"), title: next(op)},
    {text: bytesText(op.least_bytes)}, {text: msText(op.ms)}, {text: percent(op.ms / data.steps_ms)}]);
  const titles = [{title: "Value"}, {title: "Layouts"}, {title: "For"}, {title: "moved", number: true}, {title: "ms", number: true}, {title: "share", number: true}];
  const spent = d3.sum(conversions, op => op.ms);
  box.append(el("p", {class: "quiet"}, `${conversions.length} conversions take ${msText(spent)} ms, ${percent(spent / data.steps_ms)} of the steps' time.`),
    el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Conversions"}, plainTable(titles, rows, "Conversions")));
}

function drawAccuracy() {
  const box = byId("accuracy-table");
  if (!data.accuracy) {
    box.append(el("p", {}, "Not compared: the report was made with --no-accuracy."));
    return;
  }
  const number = value => known(value) ? digits(value, 3) : "–";
  const rows = data.accuracy.outputs.map(output => [{text: breakable(output.name)}, {text: number(output.max_abs)},
    {text: number(output.max_rel)}, {text: known(output.sqnr_db) ? output.sqnr_db.toFixed(1) : "equal"}, {text: known(output.cosine) ? output.cosine.toFixed(6) : "–"},
    {text: el("span", {class: output.ok ? "good" : "bad"}, output.ok ? "yes" : "NO")}, {text: output.rule}]);
  const titles = [{title: "Output"}, {title: "max abs", number: true}, {title: "max rel", number: true}, {title: "SQNR dB", number: true},
    {title: "cosine", number: true}, {title: "ok"}, {title: "Tolerance"}];
  box.append(el("p", {class: "quiet"}, "Against the scalar reference, on the same inputs."),
    el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Accuracy"}, plainTable(titles, rows, "Accuracy")));
}

function drawAdvice() {
  const box = byId("advice-list"), how = el("p", {class: "quiet"}, `${data.advice_reason}. `, el("code", {}, "fettle advise --all"),
    " lists those without a gain, too; ", el("code", {}, "--apply OUT.onnx"), " writes the changed network.");
  if (!data.advice) {
    box.append(el("p", {}, `None: ${data.advice_reason}.`));
    return;
  }
  if (!data.advice_measured) {
    box.append(el("p", {}, "Nothing: no change was measured."), how);
    return;
  }
  if (data.advice.length === 0) {
    box.append(el("p", {}, "Nothing: of the changes that were measured on this device, none makes this network faster beyond the spread. It is good as it is."), how);
    return;
  }
  box.append(el("ol", {}, ...data.advice.map(one => el("li", {}, el("strong", {}, one.change), `: ${one.text}. `,
    one.same_function ? "The network computes the same." : "It has to be trained again.", el("br"),
    el("span", {class: "quiet", title: one.nodes.join("\n")}, shorten(one.nodes.join(", "), 120))))), how);
}

function drawDevice() {
  const cpu = data.cpu, precision = data.precision;
  const ceilings = el("ul", {}, ...cpu.ceilings.map(one => el("li", {}, `${one.name}: ${scaled(one.value, one.unit)}, repeats within ${percent(one.spread)}`)));
  byId("device-facts").replaceWith(facts([
    ["Runs on", data.device.kind === "cpu" ? "the CPU" : `${data.device.kind}: ${data.device.name}`],
    ["CPU", `${cpu.name}, ${cpu.cores} cores, ${data.device.threads} threads used`], ["Instructions", cpu.isa.join(", ")],
    ["Caches", `L1d ${bytesText(cpu.l1d_bytes)}, L2 ${bytesText(cpu.l2_bytes)}, L3 ${bytesText(cpu.l3_bytes)}`],
    ["One core at best", ceilings],
    ["Precision", `wanted ${precision.wanted}, device ${precision.device}, used ${precision.used}${precision.reason ? ` (${precision.reason})` : ""}`],
    ["Inputs", data.inputs.map(input => `${input.name}: ${input.dtype} ${input.shape.join("×") || "scalar"}`).join("; ")],
    ["Fingerprint", el("code", {}, data.device.fingerprint || cpu.fingerprint)],
    ["Warnings", data.warnings.length ? el("ul", {}, ...data.warnings.map(warning => el("li", {}, warning))) : null],
  ]));
}

byId("model").textContent = data.model.split("/").pop();
byId("about").textContent = `${data.device.name}, ${data.device.threads} threads · precision ${data.precision.used} · plan: ` +
  {preferences: "default, nothing measured", database: "tuned, from the database", tuned: "what tuning for this report kept", package: "the package's",
    regime: "of a tuned range", similar: "of a package, for other shapes"}[data.plan] + ` · ${data.created}`;
byId("made").textContent = `Made by fettle report, version ${data.version}.`;
drawCards();
operators.start();
drawConversions();
drawAccuracy();
drawAdvice();
drawDevice();
theme.start();
theme.draw(drawRoofline);
theme.draw(drawNetwork);
theme.draw(drawHistory);
byId("network-colours").addEventListener("change", drawNetwork);
let resized, width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;  // a phone's address bar comes and goes
  width = innerWidth;
  clearTimeout(resized);
  resized = setTimeout(() => theme.redraws.forEach(redraw => redraw()), 150);
});
