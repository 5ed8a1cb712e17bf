// Tunes one graph: finds the plan that is optimal by measured costs, measuring only candidates that
// could be part of it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "planner/accuracy.h"
#include "planner/decision.h"
#include "planner/extract.h"
#include "solver/solve.h"
#include "tuner/measure/measure.h"
#include "tuner/network/level.h"

namespace fettle::tuner {

struct TuneProgress {
  int64_t measured = 0;
  /// What an optimum that only knows bounds would still measure: falls, but not steadily.
  int64_t open = 0;
  double seconds = 0;
  double predicted_us = 0;
};

struct TuneOptions {
  Level level = Level::kNormal;
  /// On the clock of `measure`: nothing is started that is not expected to end by then, and the
  /// plan is the best of what was measured. 0: no limit.
  int64_t deadline_ns = 0;
  solver::Options solver;
  /// Restricts the plan to one layout (planner/restrict.h), for comparison; empty: all.
  std::string layout;
  /// Measures every entry before the last solve, to check that measuring only what the optimum uses
  /// loses nothing.
  bool everything = false;
  MeasureOptions measure;
  /// Whether the default plan is the CPU's own rather than that of all devices.
  bool prefers_cpu = false;
  /// Limits of the plan, which the solver keeps.
  planner::Bounds bounds;
  /// Keys (Lossy::key) of choices that may not be taken.
  std::set<std::string> banned;
  /// Called now and then; returning false ends the measuring as the budget does. May be empty.
  std::function<bool(const TuneProgress&)> progress;
};

/// A candidate that may not be used, and why.
struct Rejected {
  std::string kernel, problem, reason;
};

/// A choice of the plan that loses accuracy.
struct Lossy {
  std::string key;   // for TuneOptions::banned
  std::string name;  // kernel
  planner::LossyChoice trade;
};

struct TuneReport {
  int64_t entries = 0;   // different slots and conversions that the optimum was sought in
  int64_t measured = 0;  // sets of parameters of them, and conversions, in this call
  int64_t reused = 0;    // the same from the store
  int64_t priors = 0;    // of the entries, known from another build, driver or protocol alone
  int64_t raced = 0;     // slots whose best sets ran against each other, or beside the default's
  int64_t skipped = 0;   // times that a measurement would not have ended before the deadline
  int64_t choices = 0;   // of all groups, equal kinds counted again
  int rounds = 0;        // times that the problem was solved
  double solve_seconds = 0;
  double seconds = 0;
  /// Whether the search ended before the optimum was proven, and why, as text.
  bool stopped = false;
  std::string end;
  /// "predicted from 1234 rows of 3 devices" where that made the plan; empty: it did not.
  std::string predicted;
  /// The unmeasured parts of the best plan that is still possible.
  int64_t open = 0;
  /// A lower bound of any plan's time, by all that was measured or bounded; 0: unknown.
  double bound_us = 0;
  solver::Report solver;  // of the last solve
  std::vector<Rejected> rejected;
  std::vector<Lossy> lossy;
  /// Groups whose kernels all failed their checks, and the default plan's kernel that stays there.
  std::vector<std::string> warnings;
};

/// Tunes `graph`, whose values have concrete shapes, for sessions of `limits` on `devices`. Every
/// measurement goes to `store` at once, so that a call after a kill continues there. Where all
/// kernels of a group fail their checks, the default plan's stays. Fails with kUnsupported where a
/// node has no kernel or no plan keeps the bounds, kCancelled where MeasureOptions::cancelled was
/// set, kDeviceUnavailable where a kernel made its device unusable, which is remembered. The report
/// then holds the work so far.
Result<planner::Decision> TuneGraph(const ir::Graph& graph, const DeviceSet& devices,
                                    const planner::Limits& limits, const TuneOptions& options,
                                    Store& store, TuneReport* report);

}  // namespace fettle::tuner
