// Tuning: evaluations against the sum of the fastest kernels found so far.
function drawHistory() {
  const box = byId("history-plot"), history = data.history, name = data.model.split("/").pop();
  const how = el("p", {}, "To tune: ", el("code", {}, `fettle report ${name} --budget 60`), ", or ",
    el("code", {}, `fettle tune ${name}`), ", whose package then starts with what was found.");
  // Lines of a terminal; those that begin with blanks go on with the one before.
  const lines = data.tuning ? data.tuning.replace(/\n +/g, " ").trim().split("\n") : [];
  const said = lines.length ? el("ul", {}, ...lines.map(line => el("li", {}, line))) : "";
  if (!history && data.tuning) {
    box.replaceChildren(said, el("p", {}, "No kernel of this model has a time in the database yet: a larger budget measures more."), how);
    return;
  }
  if (!history) {
    box.replaceChildren(el("p", {}, "This model was not tuned on this device, as far as its database knows: the plan is the default one, made of the kernels' own preferences."), how);
    return;
  }
  const points = history.points, last = points[points.length - 1];
  const width = Math.max(340, Math.min(1320, box.clientWidth || 900)), height = 260;
  const margin = {top: 12, right: 16, bottom: 42, left: 56};
  const x = d3.scaleLinear([0, last.evaluations], [margin.left, width - margin.right]);
  const range = d3.extent(points, point => point.ms);
  const y = d3.scaleLinear([Math.max(0, range[0] * 0.95), range[1] * 1.02], [height - margin.bottom, margin.top]).nice();
  const svg = d3.create("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img")
    .attr("aria-label", `From ${msText(points[0].ms)} ms to ${msText(last.ms)} ms in ${last.evaluations} evaluations`);
  svg.append("g").attr("transform", `translate(0,${height - margin.bottom})`).call(d3.axisBottom(x).ticks(6));
  svg.append("g").attr("transform", `translate(${margin.left},0)`).call(d3.axisLeft(y).ticks(6));
  svg.append("text").attr("x", width / 2).attr("y", height - 6).attr("text-anchor", "middle").text("evaluations");
  svg.append("text").attr("transform", `translate(14,${height / 2}) rotate(-90)`).attr("text-anchor", "middle").text("ms, best found");
  svg.append("path").attr("class", "curve").attr("d", d3.line().x(point => x(point.evaluations)).y(point => y(point.ms)).curve(d3.curveStepAfter)(points));
  const text = `${history.rows} evaluations of kernels for ${history.operators} kinds of operators: the sum of the fastest found fell from ` +
    `${msText(points[0].ms)} to ${msText(last.ms)} ms. Operators count with their first time before they have one; conversions are left out.`;
  const missing = history.unmeasured ? el("p", {class: "quiet"}, `${history.unmeasured} kinds of operators have no time yet.`) : "";
  box.replaceChildren(said, el("p", {class: "quiet"}, text), svg.node(), missing,
    data.plan === "preferences" ? el("p", {}, "The plan that runs is the default one: no finished tuning of this model is known here.") : "",
    data.plan === "preferences" ? how : "");
}
