#include "jobs/tuning.h"

#include <fmt/format.h>

#include <cmath>

#include "jobs/interrupt.h"
#include "report/plan_report.h"
#include "report/progress.h"

namespace fettle::tools {

void AddTuningOptions(CLI::App& app, TuningOptions& options) {
  app.add_option("--level", options.level, "how far to look: none|fast|normal|wide|full")
      ->envname("FETTLE_LEVEL")
      ->check(CLI::IsMember({"none", "fast", "normal", "wide", "full"}));
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

Json TuningJson(const runtime::TuneModelResult& result) {
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
      {"compiled", 0},
      {"entries", result.report.entries},
      {"choices", result.report.choices},
      {"rounds", result.report.rounds},
      {"solve_seconds", result.report.solve_seconds},
      {"seconds", result.seconds},
      {"complete", !result.report.stopped},
      {"skipped", result.report.skipped},
      {"banned", std::move(banned)},
      {"rejected", std::move(rejected)},
      {"plan", PlanJson(result)}};
}

std::string TuningText(const runtime::TuneModelResult& result) {
  const tuner::GateResult& gate = result.gate;
  std::string text =
      fmt::format("{} measured, {} reused of {} entries ({} choices), {} rounds in {:.2f} s\n",
                  result.report.measured, result.report.reused, result.report.entries,
                  result.report.choices, result.report.rounds, result.seconds);
  if (result.report.stopped) text += "the budget ended the search: the plan may not be the best\n";
  if (result.report.skipped > 0)
    text += fmt::format("{} times a measurement did not fit into the time that was left\n",
                        result.report.skipped);
  for (const tuner::Lossy& one : result.banned)
    text += fmt::format("given up for accuracy: {} (error {:.2g}, saves {:.2f} us)\n", one.name,
                        one.trade.error, one.trade.saved_us);
  for (const tuner::Rejected& one : result.report.rejected)
    text += fmt::format("rejected {}: {}\n", one.kernel, one.reason);
  text += fmt::format(
      "default {:.3f} ms, tuned {:.3f} ms ({:.2f}x, 99 % confidence {:.2f} to {:.2f}), predicted "
      "{:.3f} ms: {}\n",
      gate.incumbent_us * 1e-3, gate.challenger_us * 1e-3, gate.ratio > 0 ? 1 / gate.ratio : 1,
      gate.high > 0 ? 1 / gate.high : 1, gate.low > 0 ? 1 / gate.low : 1,
      result.predicted_us * 1e-3,
      gate.accepted ? "the tuned plan is used" : "the default plan stays");
  if (!gate.reason.empty()) text += gate.reason + "\n";
  return text;
}

}  // namespace fettle::tools
