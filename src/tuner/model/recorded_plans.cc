#include "tuner/model/recorded_plans.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "planner/plan_book.h"
#include "planner/planner.h"
#include "tuner/cost/residency.h"

namespace fettle::tuner {

Result<exec::Plan> RecordedPlans::PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                                          const planner::Limits& limits) {
  ASSIGN_OR_RETURN(exec::Plan plan, plans_->PlanFor(segment, devices, limits));
  const uint64_t graph = planner::KeyOf(segment, devices, limits).graph;
  const std::lock_guard lock(mutex_);
  made_.push_back({graph, segment, plan, {devices, limits}});
  return plan;
}

const RecordedPlans::Made* RecordedPlans::Last(uint64_t graph) const {
  const auto last = std::find_if(made_.rbegin(), made_.rend(),
                                 [&](const Made& made) { return made.graph == graph; });
  return last == made_.rend() ? nullptr : &*last;
}

std::optional<RecordedPlans::Place> RecordedPlans::LastPlace(uint64_t graph) const {
  const std::lock_guard lock(mutex_);
  const Made* last = Last(graph);
  return last == nullptr ? std::nullopt : std::optional(last->place);
}

std::optional<exec::Plan> RecordedPlans::LastPlan(uint64_t graph) const {
  const std::lock_guard lock(mutex_);
  const Made* last = Last(graph);
  return last == nullptr ? std::nullopt : std::optional(last->plan);
}

bool RecordedPlans::HaveColdConstants(const CpuInfo& info) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(made_.begin(), made_.end(), [&](const Made& made) {
    const auto start = planner::MakePlan(made.segment, made.place.devices, made.place.limits);
    return start.ok() && tuner::ConstantsAreCold(*start, info);
  });
}

std::vector<StepCost> RecordedPlans::Price(bool cold_constants, Store& store) const {
  const std::lock_guard lock(mutex_);
  std::vector<StepCost> all;
  for (const Made& made : made_) {
    const std::vector<StepCost> costs = tuner::StepCostsOf(
        made.plan, made.place.devices, made.place.limits.threads, cold_constants, store);
    all.insert(all.end(), costs.begin(), costs.end());
  }
  return all;
}

std::optional<RunSample> RecordedPlans::Sample(const Device& accelerator, bool cold_constants,
                                               Store& store) const {
  const std::lock_guard lock(mutex_);
  if (made_.size() != 1) return std::nullopt;
  const auto& [graph, segment, plan, place] = made_.front();
  const std::vector<StepCost> costs =
      tuner::StepCostsOf(plan, place.devices, place.limits.threads, cold_constants, store);
  RunSample sample{.waits = tuner::WaitsFor(plan, accelerator)};
  if (sample.waits == 0) return std::nullopt;
  if (!std::ranges::all_of(costs, &StepCost::known)) return std::nullopt;
  sample.steps_us = tuner::RunUs(costs);
  return sample;
}

void StepTimes::Add(const std::vector<exec::StepProfile>& run) {
  if (kernels_.empty())
    for (const exec::StepProfile& step : run) kernels_.push_back(step.kernel);
  if (!std::ranges::equal(run, kernels_, {}, &exec::StepProfile::kernel)) return;
  std::vector<double>& us = runs_.emplace_back();
  for (const exec::StepProfile& step : run) us.push_back(step.ms * 1e3);
}

std::vector<const std::vector<double>*> StepTimes::TypicalRuns() const {
  std::vector<std::pair<double, const std::vector<double>*>> by_total;
  for (const std::vector<double>& run : runs_)
    by_total.emplace_back(std::accumulate(run.begin(), run.end(), 0.0), &run);
  std::ranges::sort(by_total);
  // Two at least.
  const size_t left_out = std::min(by_total.size() / 4, (by_total.size() - 2) / 2);
  std::vector<const std::vector<double>*> typical;
  for (size_t i = left_out; i + left_out < by_total.size(); ++i)
    typical.push_back(by_total[i].second);
  return typical;
}

std::vector<StepSample> StepTimes::Samples(const std::vector<StepCost>& costs) const {
  std::vector<StepSample> samples;
  if (!std::ranges::equal(kernels_, costs, {}, {}, &StepCost::kernel) || runs_.size() < 2)
    return samples;
  for (const StepCost& cost : costs)
    samples.push_back({.of = cost.of, .alone_us = cost.alone_us, .problem = cost.problem});
  const std::vector<const std::vector<double>*> typical = TypicalRuns();
  for (size_t run = 0; run < typical.size(); ++run) {
    const size_t half = run % 2;
    const auto share = 1 / static_cast<double>((typical.size() + 1 - half) / 2);
    for (size_t i = 0; i < samples.size(); ++i)
      samples[i].halves_us[half] += share * (*typical[run])[i];
  }
  return samples;
}

void RoundSamples::Add(std::vector<StepSample> samples, double default_us) {
  least_us_ = rounds_.empty() ? default_us : std::min(least_us_, default_us);
  rounds_.push_back({std::move(samples), default_us});
}

std::vector<StepSample> RoundSamples::AtOnePace() const {
  std::vector<StepSample> all;
  for (const Round& round : rounds_) {
    for (StepSample sample : round.samples) {
      for (double& us : sample.halves_us) us *= least_us_ / round.default_us;
      all.push_back(std::move(sample));
    }
  }
  return all;
}

bool AreStepsOf(const std::vector<exec::StepProfile>& run, const std::vector<StepCost>& costs) {
  return std::equal(run.begin(), run.end(), costs.begin(), costs.end(),
                    [](const auto& a, const auto& b) { return a.kernel == b.kernel; });
}

}  // namespace fettle::tuner
