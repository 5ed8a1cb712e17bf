// Tuning a model as a session runs it: every segment, then the gate over the whole network.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "planner/accuracy.h"
#include "planner/plan_book.h"
#include "runtime/session.h"
#include "tuner/cost/calibration.h"
#include "tuner/model/chain_search.h"
#include "tuner/network/gate.h"
#include "tuner/network/tune.h"

namespace fettle::tuner {

struct TuneModelOptions {
  /// Of the sessions that are tuned for; `plans` is not read.
  runtime::SessionOptions session;
  /// On the steady clock: everything ends by then, including the writing of a package. Work that
  /// does not fit is left out, and the report says so. 0: none.
  int64_t deadline_ns = 0;
  /// Another clock for it, which `tune.measure` and `gate` have too; empty: the steady one.
  std::function<int64_t()> now_ns;
  /// Whether time is kept for writing a package, and for packed weights in it.
  bool writes_package = true;
  bool packed_weights = false;
  /// Whether steps of the plan that won are tried as one launch (exec::StepChain).
  bool tries_chains = true;
  /// Where it will be written; empty: unknown. Where the package is large, writing to that disk is
  /// timed.
  std::string package_path;
  /// Of a file that is forced onto a disk, which may be a slow one.
  double written_per_second = 100e6;
  /// `session.cancelled` ends a tuning within a fifth of a second, plus at most one build of an
  /// OpenCL program or one launch.
  TuneOptions tune;
  GateOptions gate;
  planner::AccuracyLimits accuracy;

  int64_t Now() const { return now_ns ? now_ns() : NowNs(); }
  /// `ns` of that clock on the steady one, as far as nothing waits until then; 0 stays 0.
  int64_t OnSteadyClock(int64_t ns) const { return ns == 0 ? 0 : ns - Now() + NowNs(); }
};

/// One segment and what was decided for it.
struct TunedSegment {
  planner::DecisionKey key;
  std::shared_ptr<const ir::Graph> graph;
  planner::Decision decision;
  int64_t entries = 0, choices = 0;
  bool proven = false;  // an optimum with regard to measured costs
};

struct TuneModelResult {
  /// The tuned decisions where the gate let them pass, the preferred ones otherwise.
  std::shared_ptr<planner::PlanBook> book;
  std::vector<TunedSegment> segments;
  TuneReport report;  // summed over segments and rounds
  GateResult gate;
  planner::PlanAccuracy accuracy;
  /// Steps that were tried as one launch, for the plan of `book`.
  std::vector<TriedChain> chains;
  std::string no_chains;  // why none was tried; empty where some were, or nothing launches
  /// True where the verdict of the gate comes from the store, for the same plan.
  bool known = false;
  /// Choices given up because the whole plan lost too much accuracy.
  std::vector<Lossy> banned;
  /// A session on the plans of `book`, which keeps their packed weights alive; may be null.
  std::shared_ptr<runtime::Session> session;
  /// As in TuneModelOptions.
  int64_t deadline_ns = 0;
  bool packed_weights = false;
  double written_per_second = 100e6;
  /// Of the plan that was tuned for, by what was known before it ran.
  double expected_us = 0;
  /// Of the plan of `book`, with what the runs have taught, and what its steps take alone; 0 where
  /// nobody measured some of them.
  double predicted_us = 0;
  double alone_us = 0;
  /// The time of its steps in the network, medians summed up; 0: not measured.
  double steps_us = 0;
  /// What the steps of the compared networks taught; no steps: nothing could be learned.
  Lesson lesson;
  double seconds = 0;
  /// Of those, the default plan's: preparing it, its first runs, and comparing it with others.
  double default_seconds = 0;

  /// The time of a run of the plan of `book`: as the gate measured it, less what chains save.
  double measured_us() const {
    double us = gate.accepted ? gate.challenger_us : gate.incumbent_us;
    for (const TriedChain& tried : chains)
      if (tried.kept) us *= tried.ratio;
    return us;
  }
};

/// Tunes `model` for the shapes of `inputs` (as Session::Run takes them) and keeps what it learns
/// in `store`. Where accelerators may compute at a lower precision, half of the time goes to high
/// precision first; the plan found there is one to beat, so that a plan that loses more accuracy is
/// not slower.
///
/// The tuned plan is used only if its outputs keep the accuracy of the preferred plan's and it is
/// faster with confidence; `gate` says so either way. If accuracy is lost, an error was estimated
/// too low, because the solver keeps `tune.bounds` (without an error budget there, the noise that
/// `accuracy` allows): the choice that loses most accuracy for the time it saves is banned, and the
/// best plan is sought again. A default plan that needs more memory than the bounds allow never
/// stays.
///
/// The times of steps in the compared networks calibrate these and later predictions. Where they
/// change much, or the budget is not used up, the best plan is sought again. The log gets a warning
/// where the measured time is over 10 % from the predicted one, and for each group whose kernels
/// all failed their checks, where the preferred kernel stays. Fails with kCancelled, saying how
/// much was measured, where `session.cancelled` was set.
Result<TuneModelResult> TuneModel(const std::shared_ptr<const runtime::Model>& model,
                                  const runtime::TensorMap& inputs, const TuneModelOptions& options,
                                  Store& store);

/// Writes the package of a tuning to `path` (where empty, to PackageFileName of `model_path` in the
/// working folder) and returns where it is. Packed weights that were asked for are left out where
/// the tuning has a deadline by which they cannot be written. Fails as SavePackage does.
Result<std::string> SaveTuned(const std::string& path, const std::string& model_path,
                              const std::shared_ptr<const runtime::Model>& model,
                              const runtime::TensorMap& inputs,
                              const runtime::SessionOptions& options, TuneModelResult& result);

}  // namespace fettle::tuner
