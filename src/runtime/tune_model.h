// Tuning a model as a session runs it: every segment, then the gate over the whole network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "planner/plan_book.h"
#include "runtime/session.h"
#include "tuner/accuracy.h"
#include "tuner/gate.h"
#include "tuner/tune.h"

namespace fettle::runtime {

struct TuneModelOptions {
  int threads = 0;  // 0: all cores
  tuner::TuneOptions tune;
  tuner::GateOptions gate;
  tuner::AccuracyLimits accuracy;
};

/// One segment and what was decided for it.
struct TunedSegment {
  planner::DecisionKey key;
  std::shared_ptr<const ir::Graph> graph;
  planner::Decision decision;
};

struct TuneModelResult {
  /// The tuned decisions where the gate let them pass, the preferred ones otherwise.
  std::shared_ptr<planner::PlanBook> book;
  std::vector<TunedSegment> segments;
  tuner::TuneReport report;  // summed over segments
  tuner::GateResult gate;
  tuner::PlanAccuracy accuracy;
  /// True where the verdict of the gate comes from the store, for the same plan.
  bool known = false;
  double predicted_us = 0;
  double seconds = 0;
};

/// Tunes `model` for the shapes of `inputs` (as Session::Run takes them) and keeps what it learns
/// in `store`. The tuned plan is used only if its outputs keep the accuracy of the preferred plan's
/// and it is faster with confidence; `gate` says so either way. Where the measured time lies over
/// 10 % from the predicted one, a warning goes to the log.
Result<TuneModelResult> TuneModel(const std::shared_ptr<const Model>& model,
                                  const TensorMap& inputs, const TuneModelOptions& options,
                                  tuner::Store& store);

/// The decisions that `store` keeps for this machine, for every graph that it was asked about.
std::shared_ptr<planner::PlanSource> LearnedPlans(std::shared_ptr<tuner::Store> store);

}  // namespace fettle::runtime
