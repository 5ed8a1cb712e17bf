#include "runtime/tuning/recorded_plans.h"

#include <algorithm>

#include "planner/plan_book.h"
#include "planner/planner.h"
#include "tuner/cost/residency.h"
#include "tuner/measure/statistics.h"

namespace fettle::runtime {

Result<exec::Plan> RecordedPlans::PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                                          const planner::Limits& limits) {
  ASSIGN_OR_RETURN(exec::Plan plan, plans_->PlanFor(segment, devices, limits));
  const uint64_t graph = planner::KeyOf(segment, devices, limits).graph;
  const std::lock_guard lock(mutex_);
  made_.push_back({graph, segment, plan, {devices, limits}});
  return plan;
}

std::optional<RecordedPlans::Place> RecordedPlans::LastPlace(uint64_t graph) const {
  const std::lock_guard lock(mutex_);
  const auto last = std::find_if(made_.rbegin(), made_.rend(),
                                 [&](const Made& made) { return made.graph == graph; });
  return last == made_.rend() ? std::nullopt : std::optional(last->place);
}

bool RecordedPlans::HaveColdConstants(const CpuInfo& info) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(made_.begin(), made_.end(), [&](const Made& made) {
    const auto start = planner::MakePlan(made.segment, made.place.devices, made.place.limits);
    return start.ok() && tuner::ConstantsAreCold(*start, info);
  });
}

std::vector<tuner::StepCost> RecordedPlans::Price(bool cold_constants, tuner::Store& store) const {
  const std::lock_guard lock(mutex_);
  std::vector<tuner::StepCost> all;
  for (const Made& made : made_) {
    const std::vector<tuner::StepCost> costs = tuner::StepCostsOf(
        made.plan, made.place.devices, made.place.limits.threads, cold_constants, store);
    all.insert(all.end(), costs.begin(), costs.end());
  }
  return all;
}

std::optional<tuner::RunSample> RecordedPlans::Sample(const Device& accelerator,
                                                      bool cold_constants,
                                                      tuner::Store& store) const {
  const std::lock_guard lock(mutex_);
  if (made_.size() != 1) return std::nullopt;
  const auto& [graph, segment, plan, place] = made_.front();
  const std::vector<tuner::StepCost> costs =
      tuner::StepCostsOf(plan, place.devices, place.limits.threads, cold_constants, store);
  tuner::RunSample sample{.waits = tuner::WaitsFor(plan, accelerator)};
  if (sample.waits == 0) return std::nullopt;
  if (!std::ranges::all_of(costs, &tuner::StepCost::known)) return std::nullopt;
  sample.steps_us = tuner::RunUs(costs);
  return sample;
}

void StepTimes::Add(const std::vector<exec::StepProfile>& run) {
  if (steps_.empty())
    for (const exec::StepProfile& step : run) steps_.push_back({step.kernel, {}});
  const bool same = std::equal(run.begin(), run.end(), steps_.begin(), steps_.end(),
                               [](const auto& a, const auto& b) { return a.kernel == b.kernel; });
  if (!same) return;
  for (size_t i = 0; i < run.size(); ++i) steps_[i].halves_us[runs_ % 2].push_back(run[i].ms * 1e3);
  ++runs_;
}

std::vector<tuner::StepSample> StepTimes::Samples(const std::vector<tuner::StepCost>& costs) const {
  std::vector<tuner::StepSample> samples;
  const bool same = std::equal(steps_.begin(), steps_.end(), costs.begin(), costs.end(),
                               [](const auto& a, const auto& b) { return a.kernel == b.kernel; });
  if (!same || runs_ < 2) return samples;
  for (size_t i = 0; i < costs.size(); ++i)
    samples.push_back({.of = costs[i].of,
                       .alone_us = costs[i].alone_us,
                       .halves_us = {tuner::Median(steps_[i].halves_us[0]),
                                     tuner::Median(steps_[i].halves_us[1])},
                       .problem = costs[i].problem});
  return samples;
}

bool AreStepsOf(const std::vector<exec::StepProfile>& run,
                const std::vector<tuner::StepCost>& costs) {
  return std::equal(run.begin(), run.end(), costs.begin(), costs.end(),
                    [](const auto& a, const auto& b) { return a.kernel == b.kernel; });
}

}  // namespace fettle::runtime
