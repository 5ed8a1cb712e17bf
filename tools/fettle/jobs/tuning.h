// What tune, bench --layout-transform and run --fast-run share: the options of tuning, the
// database, and one tuning with its progress.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "jobs/job.h"
#include "report/report.h"
#include "runtime/tune_model.h"

namespace fettle::tools {

struct TuningOptions {
  std::string level = "normal";
  double budget = 0;  // seconds; 0: none
};

/// --level and --budget.
void AddTuningOptions(CLI::App& app, TuningOptions& options);

/// The database that --cache and --no-cache name.
std::shared_ptr<tuner::Store> StoreFor(const CommonOptions& options);

/// Tunes the job's model for its inputs; the budget counts from `start_ns`. Ctrl-C ends the
/// measuring and keeps what was learned.
Result<runtime::TuneModelResult> TuneJob(const Job& job, const CommonOptions& common,
                                         const TuningOptions& options, tuner::Store& store,
                                         int64_t start_ns = NowNs());

/// The steps of the plan that a tuning leaves: as they ran, or as it decided on them.
std::vector<exec::StepProfile> StepsOfTuning(const runtime::TuneModelResult& result);

/// The fields of docs/cli.md's row `tune`; `session` as the tuning had it.
Json TuningJson(const runtime::TuneModelResult& result, const runtime::SessionOptions& session);
/// One paragraph for people.
std::string TuningText(const runtime::TuneModelResult& result, const TuningOptions& options,
                       const runtime::SessionOptions& session);

}  // namespace fettle::tools
