#include "report/bench_document.h"

#include <map>

#include "jobs/accelerator.h"
#include "report/bench_report.h"
#include "report/statistics.h"

namespace fettle::tools {
namespace {

Json OpsJson(const BenchResult& result, const Prediction& prediction, Roofline& roofline) {
  Json ops = Json::array();
  for (size_t i = 0; i < result.steps.size(); ++i) {
    const exec::StepProfile& step = result.steps[i];
    const bool known = !prediction.steps.empty();
    ops.push_back(StepJson(step, roofline));
    ops.back()["predicted_ms"] = known ? Json(prediction.steps[i].us * 1e-3) : Json(nullptr);
    ops.back()["alone_ms"] = known ? Json(prediction.steps[i].alone_us * 1e-3) : Json(nullptr);
  }
  return ops;
}

/// How much of the time went into changing layouts.
Json ConversionsJson(const BenchResult& result) {
  double total = 0, conversions = 0;
  int64_t count = 0;
  for (const exec::StepProfile& step : result.steps) {
    total += step.ms;
    if (step.op != "Convert") continue;
    conversions += step.ms;
    ++count;
  }
  return {{"count", count}, {"share", total > 0 ? conversions / total : 0}};
}

Json DeviceMacShare(const BenchResult& result) {
  std::map<std::string, double> macs;
  double total = 0;
  for (const exec::StepProfile& step : result.steps) {
    macs[step.device] += static_cast<double>(step.macs);
    total += static_cast<double>(step.macs);
  }
  Json shares = Json::object();
  for (const auto& [device, part] : macs)
    if (total > 0) shares[device] = part / total;
  if (shares.empty()) shares["cpu"] = 1.0;
  return shares;
}

/// Null without an accelerator: then the calling thread computes.
Json HostJson(const Job& job, const BenchResult& result) {
  if (job.session.accelerator() == nullptr) return nullptr;
  const Summary summary = Summarise(result.host_ms);
  return {{"min", summary.min}, {"median", summary.median}};
}

}  // namespace

Json BenchDocument(const JobOptions& options, bool bound, const Job& job, const BenchResult& result,
                   const Prediction& prediction, Roofline& roofline) {
  // Before the probe of the ceilings, which builds a program of its own.
  const Json programs = ProgramsJson(job.session);
  const Summary summary = Summarise(result.latencies);
  Json document = {
      {"model", options.model},
      {"device_ms", job.device_ms},
      {"load_ms", job.load_ms},
      {"prepare_ms", result.prepare_ms},
      {"preparation", PreparationJson(result.preparation)},
      {"first_ms", result.first_ms},
      {"latency_ms",
       {{"min", summary.min},
        {"median", summary.median},
        {"mean", summary.mean},
        {"p90", summary.p90},
        {"p99", summary.p99},
        {"stddev", summary.stddev}}},
      {"host_ms", HostJson(job, result)},
      {"transfers",
       {{"copies", result.transfers.copies},
        {"copied_bytes", result.transfers.copied_bytes},
        {"maps", result.transfers.maps},
        {"conversions", result.transfers.conversions}}},
      {"launches", LaunchesJson(job)},
      {"bound", bound},
      {"iterations", result.latencies.size()},
      {"on_fewer_threads", result.runs_on_fewer},
      {"throughput", summary.mean > 0 ? 1000 / summary.mean : 0},
      {"peak_rss_bytes", result.peak_rss_bytes},
      {"arena_bytes", result.memory.arena_bytes},
      {"weight_bytes", result.memory.weight_bytes},
      {"packed_bytes", result.memory.packed_bytes},
      {"device_bytes", result.memory.device_bytes},
      {"live_bytes", result.memory.live_bytes},
      {"conversions", ConversionsJson(result)},
      {"roofline_share", roofline.Share(result.steps)},
      {"ops", OpsJson(result, prediction, roofline)},
      {"device_mac_share", DeviceMacShare(result)},
      {"programs", programs},
      {"device", DeviceJson(job.threads, job.session.accelerator())},
      {"precision", PrecisionJson(options.common, job.session.accelerator(), result.steps)},
      {"interrupted", result.interrupted},
      {"warnings", job.warnings}};
  for (const BoundInput& input : job.bound.inputs)
    document["input_shapes"][input.name] = ShapeJson(input.tensor.shape());
  return document;
}

}  // namespace fettle::tools
