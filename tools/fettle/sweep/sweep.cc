#include "sweep/sweep.h"

#include <algorithm>

#include "ir/noise.h"
#include "jobs/interrupt.h"
#include "jobs/product_bench.h"
#include "report/progress.h"
#include "runtime/model.h"

namespace fettle::tools {
namespace {

/// Longest time of the samples of one point; fast ones end much sooner.
constexpr double kMostPointMs = 100;

Result<SweepRow> MeasurePoint(const SweepNetwork& network, const SweepPoint& point,
                              const runtime::SessionOptions& options) {
  ASSIGN_OR_RETURN(ir::Graph graph, PointGraph(network, point));
  ASSIGN_OR_RETURN(const std::vector<Tensor> noise, ir::NoiseInputs(graph, network.seed));
  ASSIGN_OR_RETURN(const auto model, runtime::Model::FromGraph(std::move(graph), "sweep"));
  ASSIGN_OR_RETURN(const auto session, runtime::Session::Create(model, options));
  const runtime::TensorMap inputs = {{"x", noise[0]}};
  runtime::TensorMap outputs;
  ASSIGN_OR_RETURN(
      const tuner::Summary us,
      TimeCalls([&] { return session->Run(inputs, &outputs); }, {.max_ms = kMostPointMs}));
  SweepRow row{.ms = us.median * 1e-3, .spread = us.median > 0 ? us.mad / us.median : 0};
  if (us.median > 0) row.gflops = 2e-3 * static_cast<double>(PointMacs(network, point)) / us.median;
  const auto slowest = std::ranges::max_element(session->profile(), {}, &exec::StepProfile::ms);
  if (slowest == session->profile().end()) return row;
  row.kernel = slowest->kernel;
  row.layout_in = slowest->layout_in;
  row.layout_out = slowest->layout_out;
  return row;
}

std::string PointText(const SweepPoint& point) {
  std::string text;
  for (size_t axis = 0; axis < point.size(); ++axis)
    text += fmt::format("{}{} {}", axis > 0 ? ", " : "", kSweepAxes[axis], point[axis]);
  return text;
}

}  // namespace

Result<SweepResult> RunSweep(const SweepNetwork& network, const std::vector<SweepPoint>& points,
                             const runtime::SessionOptions& session, SweepFile& file) {
  const InterruptScope interrupt([] {});
  Progress progress("sweep", std::ssize(points));
  SweepResult result;
  for (size_t i = 0; i < points.size(); ++i) {
    if (InterruptScope::Interrupted()) {
      result.interrupted = true;
      break;
    }
    progress.Update(static_cast<int64_t>(i));
    if (file.rows().contains(points[i])) {
      ++result.reused;
      continue;
    }
    const Result<SweepRow> row = MeasurePoint(network, points[i], session);
    if (!row.ok()) return row.status().WithContext(PointText(points[i]));
    RETURN_IF_ERROR(file.Add(points[i], *row));
    ++result.measured;
  }
  return result;
}

Json SweepJson(const SweepNetwork& network, const std::vector<SweepPoint>& points,
               const SweepFile& file) {
  Json rows = Json::array();
  for (const SweepPoint& point : points) {
    const auto found = file.rows().find(point);
    if (found == file.rows().end()) continue;
    Json row = Json::object();
    for (size_t axis = 0; axis < point.size(); ++axis)
      row[std::string(kSweepAxes[axis])] = point[axis];
    const SweepRow& measured = found->second;
    row.update({{"ms", measured.ms},
                {"spread", measured.spread},
                {"gflops", measured.gflops},
                {"kernel_name", measured.kernel},
                {"layout_in", measured.layout_in},
                {"layout_out", measured.layout_out}});
    rows.push_back(std::move(row));
  }
  return {{"operator", network.op}, {"type", network.type}, {"rows", std::move(rows)}};
}

}  // namespace fettle::tools
