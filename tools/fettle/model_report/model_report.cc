#include "model_report/model_report.h"

#include <ctime>
#include <filesystem>

#include "jobs/bench_runs.h"
#include "jobs/interrupt.h"
#include "jobs/plans.h"
#include "model_report/plan_reasons.h"
#include "model_report/step_facts.h"
#include "report/cpu_facts.h"
#include "report/output_comparison.h"
#include "report/process_memory.h"
#include "report/statistics.h"
#include "tuner/cost/ceilings.h"
#include "tuner/network/gate.h"
#include "tuner/store/database_file.h"

namespace fettle::tools {
namespace {

/// Everything that the parts of a report share.
struct TimedPlan {
  ChosenPlans plans;
  std::shared_ptr<PlannedSegments> segments;
  std::unique_ptr<runtime::Session> session;
  BenchResult result;
};

/// The plans of a tuning within the budget where there is one, else those that every command takes.
Result<ChosenPlans> TuneOrChoose(const ModelReportOptions& options, const Job& job) {
  if (options.tuning.budget <= 0) return ChoosePlans(job, options.job, {});
  ChosenPlans chosen;
  chosen.store = StoreFor(options.job.common);
  ASSIGN_OR_RETURN(const tuner::TuneModelResult tuned,
                   TuneJob(job, options.job.common, options.tuning, *chosen.store));
  chosen.source = planner::PlansOf(tuned.book);
  chosen.measurements = tuned.report.measured;
  // The page has one time of either plan: what the report itself measures.
  chosen.tuning = TuningText(tuned, job.session, false);
  chosen.default_kept = !tuned.gate.accepted;
  return chosen;
}

Result<TimedPlan> RunBench(const ModelReportOptions& options, const Job& job) {
  TimedPlan bench;
  ASSIGN_OR_RETURN(bench.plans, TuneOrChoose(options, job));
  ResetPeak();
  const int64_t rss_before = ResidentBytes();
  bench.segments = std::make_shared<PlannedSegments>(
      bench.plans.source != nullptr ? bench.plans.source : planner::PreferredPlans());
  runtime::SessionOptions wanted = job.session;
  wanted.plans = bench.segments;
  ASSIGN_OR_RETURN(bench.session, runtime::Session::Create(job.model, wanted));
  RETURN_IF_ERROR(Measure({.seconds = options.seconds}, job, false, *bench.session, bench.result));
  if (bench.result.interrupted) return Error(StatusCode::kCancelled, "interrupted");
  bench.result.peak_rss_bytes = std::max<int64_t>(0, PeakResidentBytes() - rss_before);
  if (job.session.accelerator() != nullptr) {
    wanted.plans = bench.plans.source;
    RETURN_IF_ERROR(MeasureSteps(job, *bench.session, wanted, bench.result));
  }
  return bench;
}

Json LatencyJson(const BenchResult& result) {
  const Summary summary = Summarise(result.latencies);
  return {{"min", summary.min},
          {"median", summary.median},
          {"mean", summary.mean},
          {"p90", summary.p90},
          {"p99", summary.p99},
          {"stddev", summary.stddev},
          {"runs", result.latencies.size()}};
}

Json MemoryJson(const BenchResult& result) {
  return {{"peak_rss_bytes", result.peak_rss_bytes},
          {"arena_bytes", result.memory.arena_bytes},
          {"weight_bytes", result.memory.weight_bytes},
          {"packed_bytes", result.memory.packed_bytes},
          {"device_bytes", result.memory.device_bytes}};
}

/// The default plan and the one that runs in turns; null where they are one.
Result<Json> CompareWithDefault(const ModelReportOptions& options, const Job& job,
                                const std::string& origin, TimedPlan& bench) {
  if (origin == "preferences" || bench.plans.default_kept) return Json(nullptr);
  runtime::SessionOptions wanted = job.session;
  wanted.plans = planner::PreferredPlans();
  ASSIGN_OR_RETURN(const auto standard, runtime::Session::Create(job.model, wanted));
  const InterruptScope interrupt([&] {
    standard->Cancel();
    bench.session->Cancel();
  });
  const auto inputs = job.bound.tensors();
  runtime::TensorMap outputs;
  const auto run = [&](runtime::Session& session) { return session.Run(inputs, &outputs); };
  ASSIGN_OR_RETURN(
      const tuner::GateResult gate,
      tuner::RunGate([&] { return run(*standard); }, [&] { return run(*bench.session); },
                     {.min_gain = 0, .seconds = options.seconds, .seed = options.job.common.seed}));
  return Json{{"default_ms", gate.incumbent_us * 1e-3}, {"ms", gate.challenger_us * 1e-3},
              {"ratio", NumberJson(gate.ratio)},        {"low", NumberJson(gate.low)},
              {"high", NumberJson(gate.high)},          {"pairs", gate.pairs}};
}

/// Why each step is what it is, beside its time; and what the database has measured of them.
Status AddReasons(const ModelReportOptions& options, const TimedPlan& bench, Json& data) {
  data["reasons"] = Json::array();
  data["history"] = nullptr;
  const auto& segments = bench.segments->segments();
  if (!AreStepsOfSegments(bench.result.steps, segments)) return OkStatus();
  const std::shared_ptr<tuner::Store> store =
      bench.plans.store != nullptr ? bench.plans.store : tuner::MemoryStore();
  const DeviceSet devices = bench.session->devices();
  std::vector<PlanReasons> plans;
  size_t step = 0;
  for (const PlannedSegments::Segment& segment : segments) {
    ASSIGN_OR_RETURN(PlanReasons reasons,
                     PlanReasons::Create(segment, devices, bench.session->limits()));
    for (Json& why : reasons.Explain(devices, bench.session->limits(), *store, data["reasons"]))
      data["ops"][step++]["why"] = std::move(why);
    plans.push_back(std::move(reasons));
  }
  const std::string path = tuner::DatabasePath(options.job.common.cache);
  std::error_code error;
  if (options.job.common.no_cache || path.empty() || !std::filesystem::exists(path, error))
    return OkStatus();
  const auto database = tuner::Database::Open(path, tuner::Database::Access::kRead);
  if (!database.ok()) return OkStatus();
  ASSIGN_OR_RETURN(data["history"], TuningHistory(plans, devices, **database));
  return OkStatus();
}

Result<Json> AccuracyJson(const ModelReportOptions& options, const Job& job,
                          const TimedPlan& bench) {
  if (!options.accuracy) return Json(nullptr);
  Job judged = job;
  judged.session.plans = bench.plans.source;
  ASSIGN_OR_RETURN(const OutputComparisons compared, CompareOutputs({}, judged, {}));
  Json outputs = Json::array();
  for (const OutputComparison& output : compared.outputs) {
    Json entry = {{"name", output.name}};
    entry.update(JudgementJson(output.judgement));
    entry["rule"] = output.judgement.rule;
    outputs.push_back(std::move(entry));
  }
  return Json{{"against", "reference"}, {"outputs", std::move(outputs)}};
}

/// What gains, or why nobody looked.
Status AddAdvice(const ModelReportOptions& options, const Job& job, Json& data) {
  data["advice"] = nullptr;
  data["advice_reason"] = "left out with --no-advice";
  if (!options.advice) return OkStatus();
  const uint64_t seed = options.job.common.seed;
  if (options.job.model == "-" || job.model->package() != nullptr) {
    data["advice_reason"] = "it is for ONNX files only";
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const ModelFile file, ReadModelFile(options.job.model));
  const auto network = quantise::Network::Read(file.bytes(), file.model);
  if (!network.ok()) {
    data["advice_reason"] = network.status().message();
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Advice advice, Advise(options.advising, job, file, seed));
  data["advice"] = Json::array();
  for (const MeasuredChange& measured : advice.changes) {
    if (!measured.gains) continue;
    Json nodes = Json::array();
    for (size_t node : measured.change.nodes) nodes.push_back(network->node(node).name);
    data["advice"].push_back({{"change", measured.change.text},
                              {"text", GainText(measured)},
                              {"nodes", std::move(nodes)},
                              {"same_function", measured.change.same_function}});
  }
  data["advice_measured"] = advice.changes.size();
  data["advice_reason"] =
      fmt::format("{} of {} changes were measured", advice.changes.size(), advice.found);
  return OkStatus();
}

/// What the CPU's cores reach together, and the accelerator, by name.
Json RoofsJson(const ModelReportOptions& options, const Job& job, const Json& cpu) {
  Json roofs = Json::array();
  for (const Json& ceiling : cpu["ceilings"])
    roofs.push_back({{"device", "cpu"},
                     {"name", ceiling["name"]},
                     {"value", ceiling["value"].get<double>() * job.threads},
                     {"unit", ceiling["unit"]}});
  const Device* const accelerator = job.session.accelerator();
  if (accelerator == nullptr) return roofs;
  for (const auto& [name, value] :
       tuner::LoadCeilings(*accelerator, *StoreFor(options.job.common))) {
    if (name.ends_with(" us")) continue;
    const bool is_rate = name.find("read") != std::string::npos;
    roofs.push_back({{"device", DeviceKindName(accelerator->kind())},
                     {"name", name},
                     {"value", value},
                     {"unit", is_rate ? "B/s" : "FLOP/s"}});
  }
  return roofs;
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  if (::gmtime_r(&now, &utc) == nullptr) return "";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min);
}

Json InputsJson(const Job& job) {
  Json inputs = Json::array();
  for (const BoundInput& input : job.bound.inputs)
    inputs.push_back({{"name", input.name},
                      {"dtype", DTypeName(input.tensor.dtype())},
                      {"shape", ShapeJson(input.tensor.shape())}});
  return inputs;
}

}  // namespace

Result<ModelReport> MakeModelReport(const ModelReportOptions& options, Job& job) {
  ASSIGN_OR_RETURN(TimedPlan bench, RunBench(options, job));
  job.warnings = WarningsOf(job, bench.plans);
  const BenchResult& result = bench.result;
  Json origin = Json::object();
  AddPlanFields(job, bench.plans, {}, origin);
  const Device* const accelerator = job.session.accelerator();
  Roofline roofline(job.threads, accelerator, options.job.common);
  ModelReport report;
  Json& data = report.data;
  data = {{"model", options.job.model},
          {"version", FETTLE_VERSION},
          {"created", Now()},
          {"inputs", InputsJson(job)},
          {"plan", origin["plan"]},
          {"tuning", bench.plans.tuning},
          {"load_ms", job.load_ms},
          {"prepare_ms", result.prepare_ms},
          {"first_ms", result.first_ms},
          {"latency_ms", LatencyJson(result)}};
  ASSIGN_OR_RETURN(data["comparison"], CompareWithDefault(options, job, origin["plan"], bench));
  data["memory"] = MemoryJson(result);
  data["roofline_share"] = roofline.Share(result.steps);
  data["ops"] = StepsJson(result.steps, bench.segments->segments(), roofline);
  RETURN_IF_ERROR(AddReasons(options, bench, data));
  ASSIGN_OR_RETURN(data["accuracy"], AccuracyJson(options, job, bench));
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  data["cpu"] = CpuJson(cpu);
  data["roofs"] = RoofsJson(options, job, data["cpu"]);
  data["device"] = DeviceJson(job.threads, accelerator);
  data["precision"] = PrecisionJson(options.job.common, accelerator, result.steps);
  RETURN_IF_ERROR(AddAdvice(options, job, data));
  data["warnings"] = job.warnings;
  report.steps = result.steps;
  return report;
}

}  // namespace fettle::tools
