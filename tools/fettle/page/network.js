// The network: a line for each step in the order in which they run, lines on the left from what writes to what reads.
const networkRow = 22;

// Edges to the very next step are straight; others run beside the steps, each in the first lane that is free there.
function edgeLanes() {
  const edges = [], ends = [];
  for (const op of data.ops) for (const from of op.from) edges.push({from, to: op.index});
  edges.sort((a, b) => a.from - b.from || a.to - b.to);
  for (const edge of edges) {
    if (edge.to === edge.from + 1) { edge.lane = 0; continue; }
    let lane = ends.findIndex(end => end <= edge.from);
    if (lane < 0) lane = ends.length;
    ends[lane] = edge.to;
    edge.lane = lane + 1;
  }
  return {edges, lanes: ends.length};
}

function networkColours(by) {
  if (by === "time" || by === "roofline") {
    const value = by === "time" ? op => op.ms : op => op.roofline_share;
    const most = by === "time" ? data.slowest_ms : 1;
    const ramp = d3.interpolateRgb(colour("low"), colour("high")), good = d3.interpolateRgb(colour("high"), colour("good"));
    const fill = by === "time" ? op => ramp(Math.sqrt(value(op) / most)) : op => good(Math.min(1, value(op)));
    const marks = by === "time" ? [[`0 ms`, ramp(0)], [`${msText(most / 4)} ms`, ramp(0.5)], [`${msText(most)} ms`, ramp(1)]] :
      [["0 %", good(0)], ["50 %", good(0.5)], ["100 %", good(1)]];
    return {fill, marks};
  }
  const kind = by === "layout" ? op => op.layout_out : op => op[by];
  const kinds = kindColours(data.ops.map(kind));
  return {fill: op => kinds.of(kind(op)), marks: kinds.order.slice(0, 9).map(name => [name || "scalar", kinds.of(name)])};
}

function drawNetwork() {
  const box = byId("network-plot"), {edges, lanes} = edgeLanes();
  const spacing = Math.min(9, 130 / Math.max(1, lanes)), left = 14 + spacing * lanes;
  const width = Math.max(330, Math.min(1320, box.clientWidth || 900)), height = networkRow * data.ops.length + 12;
  const at = index => 6 + networkRow * (index + 0.5);
  const barWidth = width < 600 ? 60 : 160, labelWidth = width - left - barWidth - 90;
  const bar = d3.scaleLinear([0, data.slowest_ms], [0, barWidth]);
  const {fill, marks} = networkColours(byId("network-colours").value);
  const svg = d3.create("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("width", width)
    .attr("aria-label", `The network's ${data.ops.length} steps; the table above has the same figures`);
  svg.append("g").selectAll("path").data(edges).enter().append("path").attr("class", "edge").attr("d", edge => {
    const x = left - spacing * edge.lane, [a, b] = [at(edge.from), at(edge.to)];
    if (edge.lane === 0) return `M${left},${a}V${b}`;
    const bend = networkRow * 0.6;
    return `M${left},${a}C${x},${a} ${x},${a} ${x},${a + bend}V${b - bend}C${x},${b} ${x},${b} ${left},${b}`;
  });
  const rows = svg.append("g").selectAll("g").data(data.ops).enter().append("g")
    .attr("transform", op => `translate(${left},${at(op.index)})`).style("cursor", "pointer")
    .on("mousemove", op => tooltip.show(d3.event, stepLines(op))).on("mouseleave", tooltip.hide)
    .on("click", op => operators.open(op.index));
  rows.append("rect").attr("x", -8).attr("y", -networkRow / 2).attr("width", width - left).attr("height", networkRow).attr("fill", "transparent");
  rows.append("rect").attr("class", "point").attr("x", -6).attr("y", -6).attr("width", 12).attr("height", 12).attr("rx", 3).attr("fill", fill);
  const letters = Math.max(8, Math.floor(labelWidth / 7.4));
  const line = op => `${kindOf(op.op)}  ${distinctLabel(op)}`, short = shortener(data.ops.map(line), letters);
  rows.append("text").attr("x", 14).attr("dy", "0.35em").text(op => {
    const text = short(line(op));
    // No cut keeps these apart: the number of the step does.
    return text.length <= letters ? text : shorten(`${op.index + 1}  ${line(op)}`, letters);
  });
  rows.append("text").attr("class", "quiet").attr("x", width - left - barWidth - 12).attr("dy", "0.35em").attr("text-anchor", "end")
    .text(op => `${msText(op.ms)} ms`);
  rows.append("rect").attr("x", width - left - barWidth - 6).attr("y", -5).attr("width", op => Math.max(1, bar(op.ms)))
    .attr("height", 10).attr("rx", 2).attr("fill", fill);
  box.replaceChildren(svg.node());
  drawLegend(byId("network-legend"), marks);
}
