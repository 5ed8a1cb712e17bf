#include "jobs/tuning.h"

#include <fmt/format.h>

#include <cmath>

#include "jobs/accelerator.h"
#include "jobs/interrupt.h"
#include "report/plan_report.h"
#include "report/progress.h"
#include "report/terminal.h"

namespace fettle::tools {

void AddTuningOptions(CLI::App& app, TuningOptions& options) {
  app.add_option("--level", options.level, "how far to look: none|fast|work-size|normal|wide|full")
      ->envname("FETTLE_LEVEL")
      ->check(CLI::IsMember(tuner::LevelNames()));
  app.add_option("--budget", options.budget, "seconds for measuring (default: no limit)")
      ->envname("FETTLE_BUDGET")
      ->check(CLI::Range(0.0, 1e6));
}

std::shared_ptr<tuner::Store> StoreFor(const CommonOptions& options) {
  if (options.no_cache) return tuner::MemoryStore();
  return tuner::OpenUserStore(options.cache);
}

Result<runtime::TuneModelResult> TuneJob(const Job& job, const CommonOptions& common,
                                         const TuningOptions& options, tuner::Store& store,
                                         int64_t start_ns) {
  runtime::TuneModelOptions tune{.session = job.session};
  ASSIGN_OR_RETURN(tune.tune.level, tuner::LevelFromName(options.level));
  tune.tune.solver.seed = tune.tune.measure.seed = tune.gate.seed = common.seed;
  if (options.budget > 0) tune.deadline_ns = start_ns + static_cast<int64_t>(options.budget * 1e9);
  const InterruptScope interrupt([] {});
  Progress progress("tune", 0);
  double least_open = 0;
  tune.tune.progress = [&](const tuner::TuneProgress& now) {
    const auto measured = static_cast<double>(now.measured), open = static_cast<double>(now.open);
    least_open = std::max(least_open, measured + open > 0 ? measured / (measured + open) : 0);
    const double spent = static_cast<double>(NowNs() - start_ns) * 1e-9;
    progress.UpdateFraction(options.budget > 0 ? std::min(1.0, spent / options.budget)
                                               : least_open);
    return !InterruptScope::Interrupted();
  };
  return runtime::TuneModel(job.model, job.bound.tensors(), tune, store);
}

std::vector<exec::StepProfile> StepsOfTuning(const runtime::TuneModelResult& result) {
  if (result.session != nullptr && !result.session->profile().empty())
    return result.session->profile();
  std::vector<exec::StepProfile> steps;
  for (const runtime::TunedSegment& segment : result.segments)
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

/// Both times and what was compared of them: nothing is claimed of pairs that were not run.
std::string GateText(const runtime::TuneModelResult& result) {
  const tuner::GateResult& gate = result.gate;
  const std::string_view verdict =
      gate.accepted ? "the tuned plan is used" : "the default plan stays";
  if (gate.incumbent_us <= 0 || gate.challenger_us <= 0)
    return fmt::format("predicted {:.3f} ms; nothing was compared: {}", result.predicted_us * 1e-3,
                       verdict);
  std::string pairs;
  if (gate.pairs > 0 && gate.low > 0 && gate.high > 0)
    pairs = fmt::format("; in {} 99 % confidence {:.2f} to {:.2f}", Count(gate.pairs, "pair"),
                        1 / gate.high, 1 / gate.low);
  return fmt::format("default {:.3f} ms, tuned {:.3f} ms ({:.2f}x{}), predicted {:.3f} ms: {}",
                     gate.incumbent_us * 1e-3, gate.challenger_us * 1e-3,
                     gate.incumbent_us / gate.challenger_us, pairs, result.predicted_us * 1e-3,
                     verdict);
}

/// Why the search ended before everything that may matter was measured.
std::string WhyStopped(const runtime::TuneModelResult& result, const TuningOptions& options) {
  if (InterruptScope::Interrupted())
    return fmt::format("interrupted, {} of {} measured",
                       result.report.measured + result.report.reused, result.report.entries);
  if (options.level == "none") return "--level none measures nothing: the costs are bounds";
  if (options.budget > 0) return "the budget ended the search: the plan may not be the best";
  return "the search ended before its plan was all measured: it may not be the best";
}

}  // namespace

Json TuningJson(const runtime::TuneModelResult& result, const runtime::SessionOptions& session) {
  const tuner::GateResult& gate = result.gate;
  const double tuned = gate.accepted ? gate.challenger_us : gate.incumbent_us;
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
      {"gate",
       {{"accepted", gate.accepted},
        {"ratio", gate.ratio},
        {"ci", {gate.low, gate.high}},
        {"pairs", gate.pairs},
        {"candidate_ms", gate.challenger_us * 1e-3},
        {"reason", gate.reason}}},
      {"accuracy", {{"ok", result.accuracy.ok}, {"sqnr_db", NumberJson(result.accuracy.sqnr_db)}}},
      {"measured", result.report.measured},
      {"reused", result.report.reused},
      {"priors", result.report.priors},
      {"compiled", Compiled(session)},
      {"entries", result.report.entries},
      {"choices", result.report.choices},
      {"rounds", result.report.rounds},
      {"solve_seconds", result.report.solve_seconds},
      {"seconds", result.seconds},
      {"complete", !result.report.stopped},
      {"interrupted", InterruptScope::Interrupted()},
      {"skipped", result.report.skipped},
      {"banned", std::move(banned)},
      {"rejected", std::move(rejected)},
      {"plan", PlanJson(result)}};
}

std::string TuningText(const runtime::TuneModelResult& result, const TuningOptions& options,
                       const runtime::SessionOptions& session) {
  const tuner::GateResult& gate = result.gate;
  std::string text = fmt::format("{} measured, {} reused of {} entries ({}), {} in {:.2f} s\n",
                                 result.report.measured, result.report.reused,
                                 result.report.entries, Count(result.report.choices, "choice"),
                                 Count(result.report.rounds, "round"), result.seconds);
  if (session.accelerator() != nullptr) text += Count(Compiled(session), "program") + " compiled\n";
  if (result.report.stopped) text += WhyStopped(result, options) + "\n";
  if (result.report.skipped > 0)
    text +=
        Count(result.report.skipped, "measurement") + " did not fit into the time that was left\n";
  for (const tuner::Lossy& one : result.banned)
    text += fmt::format("given up for accuracy: {} (error {:.2g}, saves {:.2f} us)\n", one.name,
                        one.trade.error, one.trade.saved_us);
  for (const tuner::Rejected& one : result.report.rejected)
    text += fmt::format("rejected {}: {}\n", one.kernel, one.reason);
  text += GateText(result) + "\n";
  if (!gate.reason.empty()) text += gate.reason + "\n";
  return Fit(text);
}

}  // namespace fettle::tools
