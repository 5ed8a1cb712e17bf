// Learns from whole runs of compared networks; the store keeps the result and prices later plans by
// it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tuner/cost/calibration.h"
#include "tuner/model/recorded_plans.h"
#include "tuner/model/tuning_task.h"

namespace fettle::tuner {

/// Runs of one plan. References, which must outlive it.
struct SeenRuns {
  const runtime::Session& session;
  const std::shared_ptr<RecordedPlans>& plans;
  const StepTimes& times;  // of its steps; of no runs where nobody looked
  double run_us = 0;       // of a whole run; 0: not known
};

/// Rounds of comparisons, and what they taught. `task` must outlive it. Not synchronised.
class RunLessons {
 public:
  /// `measure`, which must outlive it: how the tuning measures.
  RunLessons(const TuningTask& task, const MeasureOptions& measure)
      : task_(task), measure_(measure), calibrations_(task.store) {}

  struct OfSteps {
    double steps_us = 0;           // of the tuned plan, means summed up; 0: none was timed
    std::optional<Lesson> lesson;  // none: there was nothing to learn from
  };
  /// A round: what the steps of both plans took on the CPU, and on devices that work on its cores.
  /// Those may run again until `until_ns` (0: any time), waiting for each step.
  OfSteps LearnSteps(const SeenRuns& preferred, const SeenRuns& tuned, int64_t until_ns);

  /// Those steps of an accelerator with cores of its own are only enqueued, which teaches how long
  /// that takes the host; whole runs teach what they take beside their steps.
  void LearnAccelerator(const Device& accelerator, std::span<const SeenRuns> runs);

  /// The median run of the default plan in the round in which it took least; 0: no round yet.
  double least_us() const { return rounds_.least_us(); }

 private:
  /// Of the steps that were timed, not only enqueued.
  std::vector<StepSample> TimedSteps(const SeenRuns& runs, int64_t until_ns) const;

  const TuningTask& task_;
  const MeasureOptions& measure_;
  RoundSamples rounds_;
  Calibrations calibrations_;
};

}  // namespace fettle::tuner
