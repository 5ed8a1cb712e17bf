// What steps take on devices that work on the host's own cores (tuner::WorksApart): nothing else
// goes on meanwhile, so that their times add up like those of the CPU's.
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

/// `samples` of runs of `run_us`, with those of `waited` for the steps that were only enqueued: all
/// whose device is not `cpu`. What the runs took beside all of them (launches that start, workers
/// that wake up) is shared out equally among these; where it is less than nothing they shrink.
std::vector<StepSample> WithWaited(std::vector<StepSample> samples,
                                   const std::vector<StepSample>& waited, std::string_view cpu,
                                   double run_us);

}  // namespace fettle::tuner
