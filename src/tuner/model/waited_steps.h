// The times of steps on devices that use the host's own cores (tuner::WorksApart): nothing else
// runs meanwhile, so that their times add up like those of the CPU.
#pragma once

#include "runtime/session.h"
#include "tuner/model/recorded_plans.h"
#include "tuner/model/timetable.h"

namespace fettle::tuner {

/// Runs the last plans of `plans` a few times, in a session that waits for each step. Of no runs
/// where `deadline_ns` (0: none) leaves no time for them.
Result<StepTimes> WaitedTimes(const std::shared_ptr<const runtime::Model>& model,
                              runtime::SessionOptions options,
                              const std::shared_ptr<RecordedPlans>& plans,
                              const runtime::TensorMap& inputs, int64_t deadline_ns);

/// Whether all devices beside the CPU work on its cores, so that WaitedTimes are those of runs.
bool ShareCores(const DeviceSet& devices);

/// What WaitedTimes takes of the plans of a comparison, both about as long as `run`.
double WaitedSeconds(const DefaultRun& run);

/// `samples` of runs of `run_us`, with the times of `waited` for the steps that were only enqueued:
/// those whose device is not `cpu`. The rest of the runs' time (launches that start, workers that
/// wake up) is shared equally among these steps; where the rest is negative they shrink.
std::vector<StepSample> WithWaited(std::vector<StepSample> samples,
                                   const std::vector<StepSample>& waited, std::string_view cpu,
                                   double run_us);

}  // namespace fettle::tuner
