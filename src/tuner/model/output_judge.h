// Judges whether a tuned plan's outputs are right.
#pragma once

#include "runtime/plan_accuracy.h"
#include "tuner/model/tuning_task.h"

namespace fettle::tuner {

/// Compares outputs with the default plan's. Where that plan may overflow in f16 or have a wrong
/// kernel, both are compared with the outputs of the CPU at high precision. `task` must outlive it.
/// Not synchronised.
class OutputJudge {
 public:
  explicit OutputJudge(const TuningTask& task) : task_(task) {}

  /// The accuracy that outputs must keep.
  planner::AccuracyLimits limits() const {
    return runtime::LimitsFor(task_.model->graph(), task_.options.session.precision,
                              task_.options.accuracy);
  }

  /// The verdict on a tuned plan. `preferred`: the default plan's outputs. `found_wrong`: whether a
  /// kernel was found wrong.
  Result<planner::PlanAccuracy> Judge(const runtime::TensorMap& outputs,
                                      const runtime::TensorMap& preferred, bool found_wrong) {
    const bool loses = task_.options.session.precision != planner::Precision::kHigh;
    if ((loses || found_wrong) && exact_.empty()) RETURN_IF_ERROR(FindExact(preferred));
    return runtime::CompareOutputs(outputs, exact_.empty() ? preferred : exact_, limits());
  }

  /// Of the default plan; ok while nothing else was compared with the CPU.
  const planner::PlanAccuracy& preferred() const { return preferred_; }

 private:
  Status FindExact(const runtime::TensorMap& preferred) {
    ASSIGN_OR_RETURN(
        const auto session,
        runtime::Session::Create(task_.model, {.threads = task_.options.session.threads,
                                               .cancelled = task_.options.session.cancelled}));
    RETURN_IF_ERROR(session->Run(task_.inputs, &exact_));
    preferred_ = runtime::CompareOutputs(preferred, exact_, limits());
    return OkStatus();
  }

  const TuningTask& task_;
  runtime::TensorMap exact_;  // empty: not needed yet
  planner::PlanAccuracy preferred_;
};

}  // namespace fettle::tuner
