#include "jobs/tuning.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <mutex>

#include "jobs/accelerator.h"
#include "jobs/interrupt.h"
#include "options/checks.h"
#include "report/plan_report.h"
#include "report/progress.h"
#include "report/terminal.h"

namespace fettle::tools {

void AddTuningOptions(CLI::App& app, TuningOptions& options) {
  app.add_option("--level", options.level,
                 "how many parameters are tried (default normal); none measures nothing")
      ->envname("FETTLE_LEVEL")
      ->check(OneOf(tuner::LevelNames()));
  app.add_option("--budget", options.budget,
                 "seconds for the whole command; 0 measures nothing (default: no limit)")
      ->envname("FETTLE_BUDGET")
      ->check(Between(0.0, 1e6));
  AddPlanBounds(app, options.bounds);
}

void AddPlanBounds(CLI::App& app, PlanBounds& bounds) {
  app.add_option(
         "--memory-limit", bounds.memory_limit_mb,
         "the most memory that tensors and workspaces may take at once, in MB (default: no limit)")
      ->envname("FETTLE_MEMORY_LIMIT")
      ->check(Between(0.0, 1e9));
  app.add_option("--min-sqnr", bounds.min_sqnr_db,
                 "the least signal to noise ratio of the outputs, in dB (default: 40; 30 below "
                 "high precision, 20 in quantised models)")
      ->envname("FETTLE_MIN_SQNR")
      ->check(Between(0.0, 1000.0));
}

planner::Bounds ToBounds(const PlanBounds& bounds) {
  planner::Bounds result;
  if (bounds.memory_limit_mb > 0)
    result.memory_limit = static_cast<int64_t>(bounds.memory_limit_mb * 1e6);
  if (bounds.min_sqnr_db > 0) result.error_budget = std::pow(10, -bounds.min_sqnr_db / 10);
  return result;
}

std::shared_ptr<tuner::Store> StoreFor(const CommonOptions& options) {
  if (options.no_cache) return tuner::MemoryStore();
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<tuner::Store>> open;
  const std::lock_guard lock(mutex);
  std::shared_ptr<tuner::Store>& store = open[options.cache];
  if (store == nullptr) store = tuner::OpenUserStore(options.cache);
  return store;
}

Result<tuner::TuneModelOptions> TuneOptionsOf(const Job& job, const CommonOptions& common,
                                              const TuningOptions& options, int64_t start_ns) {
  tuner::TuneModelOptions tune{.session = job.session};
  ASSIGN_OR_RETURN(tune.tune.level, tuner::LevelFromName(options.level));
  tune.tune.solver.seed = tune.tune.measure.seed = tune.gate.seed = common.seed;
  if (options.budget == 0) tune.tune.level = tuner::Level::kNone;
  if (options.budget >= 0) tune.deadline_ns = start_ns + static_cast<int64_t>(options.budget * 1e9);
  tune.writes_package = options.writes_package;
  tune.packed_weights = options.packed_weights;
  tune.package_path = options.package_path;
  tune.tune.bounds = ToBounds(options.bounds);
  if (options.bounds.min_sqnr_db > 0) tune.accuracy.asked_db = options.bounds.min_sqnr_db;
  return tune;
}

Result<tuner::TuneModelResult> TuneJob(const Job& job, const CommonOptions& common,
                                       const TuningOptions& options, tuner::Store& store,
                                       int64_t start_ns) {
  ASSIGN_OR_RETURN(tuner::TuneModelOptions tune, TuneOptionsOf(job, common, options, start_ns));
  const InterruptScope interrupt([] {});
  tune.session.cancelled = &InterruptScope::Flag();
  Progress progress("tune", 0);
  double least_open = 0;
  tune.tune.progress = [&](const tuner::TuneProgress& now) {
    const auto measured = static_cast<double>(now.measured), open = static_cast<double>(now.open);
    least_open = std::max(least_open, measured + open > 0 ? measured / (measured + open) : 0);
    const double spent = static_cast<double>(NowNs() - start_ns) * 1e-9;
    progress.UpdateFraction(options.budget > 0 ? std::min(1.0, spent / options.budget)
                                               : least_open);
    return true;
  };
  auto result = tuner::TuneModel(job.model, job.bound.tensors(), tune, store);
  if (result.ok() && options.budget == 0) result->report.end = "a budget of 0 measures nothing";
  return result;
}

std::string OverBudgetText(double budget, double taken, const UnmeasuredSeconds& parts) {
  constexpr double kUnsaid = 0.1;
  if (budget <= 0 || taken <= budget + kUnsaid) return "";
  const double rest = taken - parts.loading - parts.default_plan - parts.writing;
  return fmt::format(
      "the command took {:.1f} s of a budget of {:g} s: {:.1f} s to load the model, {:.1f} s for "
      "its default plan, {:.1f} s for the rest of the tuning, {:.1f} s to write the package",
      taken, budget, parts.loading, parts.default_plan, std::max(rest, 0.0), parts.writing);
}

std::vector<exec::StepProfile> StepsOfTuning(const tuner::TuneModelResult& result) {
  if (result.session != nullptr && !result.session->profile().empty())
    return result.session->profile();
  std::vector<exec::StepProfile> steps;
  for (const tuner::TunedSegment& segment : result.segments)
    for (exec::StepProfile& step : StepsOf(*segment.graph, segment.decision))
      steps.push_back(std::move(step));
  return steps;
}

namespace {

/// Programs that were compiled: what the cache or a package had is not.
int64_t Compiled(const runtime::SessionOptions& session) {
  const Json programs = ProgramsJson(session);
  return programs.is_null() ? 0 : programs["built"].get<int64_t>();
}

/// Whether whole networks were compared, now or before.
bool WasCompared(const tuner::TuneModelResult& result) {
  return result.known || result.gate.pairs > 0;
}

/// Choices of what may be the best plan that nobody measured: one definition for text and JSON. Not
/// entries less measurements, for an entry takes many of these.
int64_t Left(const tuner::TuneReport& report) { return report.stopped ? report.open : 0; }

Json GateJson(const tuner::TuneModelResult& result) {
  const tuner::GateResult& gate = result.gate;
  const bool compared = WasCompared(result);
  return {{"accepted", gate.accepted},
          {"ratio", compared ? Json(gate.ratio) : Json(nullptr)},
          {"ci", compared ? Json{gate.low, gate.high} : Json(nullptr)},
          {"pairs", gate.pairs},
          {"disturbed", gate.disturbed},
          {"candidate_ms", compared ? Json(gate.challenger_us * 1e-3) : Json(nullptr)},
          {"reason", gate.reason}};
}

Json CalibrationJson(const tuner::Lesson& lesson) {
  return {{"steps", lesson.steps},
          {"kept", lesson.kept},
          {"residual_before", lesson.residual_before},
          {"residual_after", lesson.residual_after}};
}

Json ChainsJson(const std::vector<tuner::TriedChain>& chains) {
  Json json = Json::array();
  for (const tuner::TriedChain& tried : chains)
    json.push_back({{"begin", tried.chain.begin},
                    {"end", tried.chain.end},
                    {"groups", tried.chain.groups},
                    {"kept", tried.kept},
                    {"ratio", tried.ratio > 0 ? Json(tried.ratio) : Json(nullptr)},
                    {"reason", tried.reason}});
  return json;
}

/// What is left to do, where the search did not come to its end.
std::string LeftText(const tuner::TuneModelResult& result) {
  const tuner::TuneReport& report = result.report;
  if (!report.stopped) return "";
  std::string text = report.end;
  if (const int64_t left = Left(report); left > 0)
    text += fmt::format(": {} still {} on estimates", Count(left, "choice"),
                        left == 1 ? "rests" : "rest");
  if (report.bound_us > 0 && result.expected_us > report.bound_us)
    text += fmt::format("; it may be up to {:.0f} % faster than the best measured plan",
                        100 * (result.expected_us / report.bound_us - 1));
  return text + "\n";
}

std::string_view VerdictOf(const tuner::TuneModelResult& result) {
  return result.gate.accepted ? "the tuned plan is used" : "the default plan stays";
}

/// Both times and what was compared of them: nothing is claimed of pairs that were not run.
std::string GateText(const tuner::TuneModelResult& result) {
  const tuner::GateResult& gate = result.gate;
  const std::string_view verdict = VerdictOf(result);
  const std::string predicted =
      result.predicted_us > 0 ? fmt::format("predicted {:.3f} ms ({:.3f} ms alone)",
                                            result.predicted_us * 1e-3, result.alone_us * 1e-3)
                              : "not predicted, because some steps were not measured";
  if (!WasCompared(result))
    return fmt::format("default {:.3f} ms; {}; nothing was compared: {}", gate.incumbent_us * 1e-3,
                       predicted, verdict);
  std::string pairs;
  if (gate.pairs > 0 && gate.low > 0 && gate.high > 0)
    pairs = fmt::format("; in {} 99 % confidence {:.2f} to {:.2f}", Count(gate.pairs, "pair"),
                        1 / gate.high, 1 / gate.low);
  return fmt::format("default {:.3f} ms, tuned {:.3f} ms ({:.2f}x{}), {}: {}",
                     gate.incumbent_us * 1e-3, gate.challenger_us * 1e-3,
                     gate.incumbent_us / gate.challenger_us, pairs, predicted, verdict);
}

}  // namespace

Json TuningJson(const tuner::TuneModelResult& result, const runtime::SessionOptions& session) {
  const tuner::GateResult& gate = result.gate;
  const double tuned = result.measured_us();
  Json rejected = Json::array();
  for (const tuner::Rejected& one : result.report.rejected)
    rejected.push_back({{"kernel", one.kernel}, {"problem", one.problem}, {"reason", one.reason}});
  Json banned = Json::array();
  for (const tuner::Lossy& one : result.banned)
    banned.push_back(
        {{"kernel", one.name}, {"error", one.trade.error}, {"saved_us", one.trade.saved_us}});
  return {
      {"default_ms", gate.incumbent_us * 1e-3},
      {"tuned_ms", tuned * 1e-3},
      {"speedup", tuned > 0 ? gate.incumbent_us / tuned : 1},
      {"predicted_ms", KnownMs(result.predicted_us)},
      {"expected_ms", KnownMs(result.expected_us)},
      {"alone_ms", KnownMs(result.alone_us)},
      {"calibration", CalibrationJson(result.lesson)},
      {"gate", GateJson(result)},
      {"accuracy", {{"ok", result.accuracy.ok}, {"sqnr_db", NumberJson(result.accuracy.sqnr_db)}}},
      {"measured", result.report.measured},
      {"reused", result.report.reused},
      {"priors", result.report.priors},
      {"compiled", Compiled(session)},
      {"entries", result.report.entries},
      {"left", Left(result.report)},
      {"choices", result.report.choices},
      {"rounds", result.report.rounds},
      {"solve_seconds", result.report.solve_seconds},
      {"seconds", result.seconds},
      {"complete", !result.report.stopped},
      {"end", result.report.end},
      {"skipped", result.report.skipped},
      {"banned", std::move(banned)},
      {"rejected", std::move(rejected)},
      {"chains", ChainsJson(result.chains)},
      {"no_chains", result.no_chains},
      {"plan", PlanJson(result)}};
}

std::string TuningText(const tuner::TuneModelResult& result, const runtime::SessionOptions& session,
                       bool times) {
  std::string text = fmt::format("{} made, {} known before; {} ({}), {} in {:.2f} s\n",
                                 Count(result.report.measured, "measurement"), result.report.reused,
                                 Count(result.report.entries, "kind") + " of steps",
                                 Count(result.report.choices, "choice"),
                                 Count(result.report.rounds, "round"), result.seconds);
  if (session.accelerator() != nullptr) text += Count(Compiled(session), "program") + " compiled\n";
  text += LeftText(result);
  if (result.report.skipped > 0)
    text +=
        Count(result.report.skipped, "measurement") + " did not fit into the time that was left\n";
  for (const tuner::Lossy& one : result.banned)
    text += fmt::format("given up for accuracy: {} (error {:.2g}, saves {:.2f} us)\n", one.name,
                        one.trade.error, one.trade.saved_us);
  for (const tuner::Rejected& one : result.report.rejected)
    text += fmt::format("rejected {}: {}\n", one.kernel, one.reason);
  text += times ? GateText(result) + "\n" : std::string(VerdictOf(result)) + "\n";
  if (!result.gate.reason.empty()) text += result.gate.reason + "\n";
  for (const tuner::TriedChain& tried : result.chains) text += tuner::ChainText(tried) + "\n";
  if (!result.no_chains.empty()) text += result.no_chains + "\n";
  return Fit(text);
}

}  // namespace fettle::tools
