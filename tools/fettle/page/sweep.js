// The heat map of a sweep: two axes of the grid, colours of what was measured, the other axes by choice.
const axes = ["cin", "cout", "size", "kernel", "stride"];
const axisNames = {cin: "input channels", cout: "output channels", size: "edge of the image", kernel: "window", stride: "stride"};
const axisValues = Object.fromEntries(axes.map(axis => [axis, Array.from(new Set(data.rows.map(row => row[axis]))).sort(d3.ascending)]));
const varying = axes.filter(axis => axisValues[axis].length > 1);

function chosenRows() {
  const [across, down] = [byId("sweep-x").value, byId("sweep-y").value];
  const fixed = varying.filter(axis => axis !== across && axis !== down);
  for (const axis of varying) byId(`sweep-${axis}`).parentElement.hidden = !fixed.includes(axis);
  return data.rows.filter(row => fixed.every(axis => row[axis] === Number(byId(`sweep-${axis}`).value)));
}

function sweepColours(rows, by) {
  if (by === "kernel_name") {
    const kinds = kindColours(rows.map(row => row.kernel_name));
    return {fill: row => kinds.of(row.kernel_name), marks: kinds.order.slice(0, 9).map(name => [name, kinds.of(name)])};
  }
  const [least, most] = d3.extent(rows, row => row[by]), ramp = d3.interpolateRgb(colour("low"), colour(by === "ms" ? "high" : "good"));
  const scale = (by === "ms" ? d3.scaleLog : d3.scaleLinear)([Math.max(1e-6, least), Math.max(1e-6, most)], [0, 1]);
  const text = value => by === "ms" ? `${msText(value)} ms` : `${digits(value, 3)} GFLOP/s`;
  return {fill: row => ramp(least === most ? 1 : scale(row[by])), marks: [[text(least), ramp(0)], [text(most), ramp(1)]]};
}

function drawSweep() {
  const box = byId("sweep-plot"), [across, down] = [byId("sweep-x").value, byId("sweep-y").value], rows = chosenRows();
  if (rows.length === 0) {
    box.replaceChildren(el("p", {}, "Nothing was measured of this yet."));
    return;
  }
  const by = byId("sweep-value").value, {fill, marks} = sweepColours(rows, by);
  const width = Math.max(330, Math.min(1320, box.clientWidth || 900)), margin = {top: 8, right: 10, bottom: 44, left: 62};
  const cell = Math.min(70, (width - margin.left - margin.right) / axisValues[across].length), tall = Math.min(cell, 34);
  const height = margin.top + margin.bottom + Math.max(1, axisValues[down].length) * Math.max(14, tall);
  const x = d3.scaleBand(axisValues[across], [margin.left, margin.left + cell * axisValues[across].length]).padding(0.04);
  const y = d3.scaleBand(axisValues[down], [margin.top, height - margin.bottom]).padding(0.04);
  const svg = d3.create("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img")
    .attr("aria-label", `Heat map of ${rows.length} points; the CSV has the same figures`);
  const every = Math.ceil(34 / cell);
  svg.append("g").attr("transform", `translate(0,${height - margin.bottom})`)
    .call(d3.axisBottom(x).tickValues(axisValues[across].filter((_, i) => i % every === 0)));
  svg.append("g").attr("transform", `translate(${margin.left},0)`).call(d3.axisLeft(y));
  svg.append("text").attr("x", margin.left + cell * axisValues[across].length / 2).attr("y", height - 8).attr("text-anchor", "middle").text(axisNames[across]);
  svg.append("text").attr("transform", `translate(14,${height / 2 - 10}) rotate(-90)`).attr("text-anchor", "middle").text(axisNames[down]);
  svg.append("g").selectAll("rect").data(rows).enter().append("rect").attr("x", row => x(row[across])).attr("y", row => y(row[down]))
    .attr("width", x.bandwidth()).attr("height", y.bandwidth()).attr("rx", 2).attr("fill", fill)
    .on("mousemove", row => tooltip.show(d3.event, [axes.map(axis => `${axis} ${row[axis]}`).join(", "),
      `${msText(row.ms)} ms, spread ${percent(row.spread)}`, `${digits(row.gflops, 3)} GFLOP/s`,
      `${row.kernel_name}, ${row.layout_in} → ${row.layout_out}`]))
    .on("mouseleave", tooltip.hide);
  box.replaceChildren(svg.node());
  drawLegend(byId("sweep-legend"), marks);
}

byId("model").textContent = `Sweep of ${data.operator}, ${data.type}`;
byId("about").textContent = `${data.device.name}, ${data.device.threads} threads · ${data.rows.length} of ${data.points} points`;
byId("made").textContent = `Made by fettle sweep, version ${data.version}.`;
const shown = varying.length > 0 ? varying : ["cin"];
for (const [id, at] of [["sweep-x", 0], ["sweep-y", Math.min(1, shown.length - 1)]]) {
  byId(id).append(...axes.map(axis => el("option", {value: axis}, axisNames[axis])));
  byId(id).value = shown.length > 1 ? shown[at] : id === "sweep-x" ? shown[0] : axes.find(axis => axis !== shown[0]);
}
for (const axis of varying)
  byId("sweep-controls").append(el("label", {}, `${axisNames[axis]} `,
    el("select", {id: `sweep-${axis}`}, ...axisValues[axis].map(value => el("option", {value}, String(value))))));
byId("sweep-controls").addEventListener("change", drawSweep);
theme.start();
theme.draw(drawSweep);
