// What tune, bench --layout-transform and run --fast-run share: the options of tuning, the
// database, and one tuning with its progress.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "jobs/job.h"
#include "report/report.h"
#include "tuner/model/tune_model.h"

namespace fettle::tools {

/// What a plan must keep, as options name it.
struct PlanBounds {
  double memory_limit_mb = 0;  // 0: none
  double min_sqnr_db = 0;      // 0: what the precision and the model's operators call for
};

/// --memory-limit and --min-sqnr.
void AddPlanBounds(CLI::App& app, PlanBounds& bounds);
/// As the solver takes them; the accuracy only where it is named.
planner::Bounds ToBounds(const PlanBounds& bounds);

struct TuningOptions {
  std::string level = "normal";
  double budget = -1;  // seconds; 0: nothing is measured, below: no limit
  PlanBounds bounds;
  bool writes_package = true;
  bool packed_weights = false;
  std::string package_path;  // empty: not known
};

/// --level, --budget and the options of PlanBounds.
void AddTuningOptions(CLI::App& app, TuningOptions& options);

/// The database that --cache and --no-cache name, opened once by a process.
std::shared_ptr<tuner::Store> StoreFor(const CommonOptions& options);

/// What is tuned for the job, without progress and interrupts.
Result<tuner::TuneModelOptions> TuneOptionsOf(const Job& job, const CommonOptions& common,
                                              const TuningOptions& options, int64_t start_ns);

/// Tunes the job's model for its inputs; the budget counts from `start_ns`. Ctrl-C and SIGTERM end
/// it with kCancelled; what was measured is kept.
Result<tuner::TuneModelResult> TuneJob(const Job& job, const CommonOptions& common,
                                       const TuningOptions& options, tuner::Store& store,
                                       int64_t start_ns = NowNs());

/// What a `tune` spent on what it does whatever that takes, in seconds.
struct UnmeasuredSeconds {
  double loading = 0, default_plan = 0, writing = 0;
};
/// What took the time of a command that took `taken` seconds, where that was more than a tenth of a
/// second beyond its budget; empty where it was not, or no budget above 0 is set.
std::string OverBudgetText(double budget, double taken, const UnmeasuredSeconds& parts);

/// The steps of the plan that a tuning leaves: as they ran, or as it decided on them.
std::vector<exec::StepProfile> StepsOfTuning(const tuner::TuneModelResult& result);

/// The fields of docs/cli.md's row `tune`; `session` as the tuning had it.
Json TuningJson(const tuner::TuneModelResult& result, const runtime::SessionOptions& session);
/// One paragraph for people.
/// `times`: with what either plan took, else just which one is used.
std::string TuningText(const tuner::TuneModelResult& result, const runtime::SessionOptions& session,
                       bool times = true);

}  // namespace fettle::tools
