// The roofline plot: operations for each byte against operations per second, both logarithmic.
function roofsOfSteps() {
  const devices = new Set(data.ops.map(op => op.device));
  const device = data.roofs.some(roof => roof.device !== "cpu" && devices.has(roof.device)) ?
    data.roofs.find(roof => roof.device !== "cpu").device : "cpu";
  const roofs = data.roofs.filter(roof => roof.device === device && roof.value > 0);
  const used = new Set(data.ops.map(op => op.ceiling));
  return {
    compute: roofs.filter(roof => /OP\/s$/.test(roof.unit) && (roof.name === "fp32 fma" || used.has(roof.name))),
    memory: fastestOfEach(roofs.filter(roof => roof.unit === "B/s")),
  };
}

// Of the ways through each memory, as "L2 read" and "L2 copy", the one that bounds are made of.
function fastestOfEach(memory) {
  const fastest = new Map();
  for (const roof of memory) {
    const level = roof.name.split(" ")[0], other = fastest.get(level);
    if (!other || other.value < roof.value) fastest.set(level, roof);
  }
  return [...fastest.values()];
}

function stepLines(op) {
  return [
    shorten(op.node, 90), `${operatorsText(op.op)} · ${op.kernel}`,
    `${msText(op.ms)} ms, ${percent(op.ms / data.steps_ms)} of the steps' time`,
    op.operations > 0 ? `${digits(op.operations / op.least_bytes, 3)} operations for each byte, ${scaled(op.operations / op.ms * 1e3, "OP/s")}` : null,
    `${percent(op.roofline_share)} of the roofline · ${op.layout_in} → ${op.layout_out} · ${op.dtype}`,
  ].filter(known);
}

function drawRoofline() {
  const box = byId("roofline-plot");
  const points = data.ops.map((op, index) => ({...op, index})).filter(op => op.operations > 0 && op.least_bytes > 0 && op.ms > 0);
  if (points.length === 0) {
    box.replaceChildren(el("p", {}, "No step of this model does arithmetic."));
    return;
  }
  const {compute, memory} = roofsOfSteps();
  const width = Math.max(340, Math.min(1320, box.clientWidth || 900)), height = width < 600 ? 340 : 460;
  const margin = {top: 14, right: 14, bottom: 44, left: 62};
  const intensity = op => op.operations / op.least_bytes, rate = op => op.operations / op.ms * 1e3;
  const top = Math.max(d3.max(points, rate), d3.max(compute, roof => roof.value) || 0) * 1.6;
  const slowest = d3.quantile(points.map(rate).sort(d3.ascending), 0.02);
  const bottom = Math.max(Math.min(slowest / 2, top / 1e3), top / 1e7);
  const x = d3.scaleLog([Math.min(0.1, d3.min(points, intensity) / 1.5), Math.max(100, d3.max(points, intensity) * 1.5)],
    [margin.left, width - margin.right]).clamp(true);
  const y = d3.scaleLog([bottom, top], [height - margin.bottom, margin.top]).clamp(true);
  const svg = d3.create("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img")
    .attr("aria-label", `Roofline plot of ${points.length} steps; the table below has the same figures`);
  const decades = scale => scale.ticks().filter(tick => Number.isInteger(Math.log10(tick)) || Math.abs(Math.log10(tick) % 1) < 1e-9);
  svg.append("g").attr("class", "grid").selectAll("line").data(decades(y)).enter().append("line")
    .attr("x1", margin.left).attr("x2", width - margin.right).attr("y1", y).attr("y2", y);
  svg.append("g").attr("transform", `translate(0,${height - margin.bottom})`)
    .call(d3.axisBottom(x).tickValues(decades(x)).tickFormat(value => digits(value, 3)));
  svg.append("g").attr("transform", `translate(${margin.left},0)`)
    .call(d3.axisLeft(y).tickValues(decades(y)).tickFormat(value => scaled(value, "")));
  svg.append("text").attr("x", width / 2).attr("y", height - 8).attr("text-anchor", "middle").text("operations for each byte");
  svg.append("text").attr("transform", `translate(14,${height / 2}) rotate(-90)`).attr("text-anchor", "middle").text("operations per second");
  drawRoofs(svg, x, y, compute, memory);
  const kinds = kindColours(points.map(op => kindOf(op.op)));
  const radius = d3.scaleSqrt([0, d3.max(points, op => op.ms)], [2.5, 16]);
  svg.append("g").selectAll("circle").data(points.sort((a, b) => b.ms - a.ms)).enter().append("circle")
    .attr("class", "point").attr("cx", op => x(intensity(op))).attr("cy", op => y(rate(op)))
    .attr("r", op => radius(op.ms)).attr("fill", op => kinds.of(kindOf(op.op))).attr("fill-opacity", 0.82)
    .on("mousemove", op => tooltip.show(d3.event, stepLines(op))).on("mouseleave", tooltip.hide)
    .on("click", op => operators.open(op.index));
  box.replaceChildren(svg.node());
  const left = data.ops.length - points.length;
  drawLegend(byId("roofline-legend"), kinds.order.slice(0, 9).map(kind => [kind, kinds.of(kind)]));
  if (left > 0) byId("roofline-legend").append(el("span", {class: "quiet"}, left === 1 ? "1 step without arithmetic is not shown" : `${left} steps without arithmetic are not shown`));
}

function drawRoofs(svg, x, y, compute, memory) {
  const [least, most] = x.domain(), highest = d3.max(compute, roof => roof.value) || y.domain()[1];
  for (const roof of compute) {
    const from = Math.max(least, roof.value / (d3.max(memory, one => one.value) || roof.value / least));
    svg.append("path").attr("class", "roof").attr("d", d3.line()([[x(from), y(roof.value)], [x(most), y(roof.value)]]));
    svg.append("text").attr("class", "quiet").attr("x", x(most) - 4).attr("y", y(roof.value) - 5).attr("text-anchor", "end")
      .text(`${roof.name}, ${scaled(roof.value, roof.unit)}`);
  }
  const isNarrow = x.range()[1] < 600;
  for (const [i, roof] of memory.entries()) {
    const meets = Math.min(most, highest / roof.value);
    const line = [[x(least), y(least * roof.value)], [x(meets), y(meets * roof.value)]];
    svg.append("path").attr("class", "roof").attr("stroke-dasharray", "5 4").attr("d", d3.line()(line));
    const [from, to] = line, angle = Math.atan2(to[1] - from[1], to[0] - from[0]) * 180 / Math.PI;
    // Neighbours begin apart, so that their names do not lie on each other.
    svg.append("text").attr("class", "quiet").attr("x", i % 2 ? (isNarrow ? 75 : 150) : 6).attr("y", -5)
      .attr("transform", `translate(${from[0]},${from[1]}) rotate(${angle})`)
      .text(isNarrow ? roof.name : `${roof.name}, ${scaled(roof.value, roof.unit)}`);
  }
}
