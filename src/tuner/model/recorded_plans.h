// Records plans as they are made, and the times of their steps in each run.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "exec/profile.h"
#include "planner/plan_source.h"
#include "tuner/cost/run_overhead.h"
#include "tuner/cost/step_costs.h"

namespace fettle::tuner {

/// Passes on the plans of another source and remembers them. Thread-safe.
class RecordedPlans final : public planner::PlanSource {
 public:
  explicit RecordedPlans(std::shared_ptr<planner::PlanSource> plans) : plans_(std::move(plans)) {}

  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override;

  /// What a plan was made for.
  struct Place {
    DeviceSet devices;
    planner::Limits limits;
  };
  /// Key of the last plan for a graph of that hash (DecisionKey::graph), which differs from earlier
  /// ones where a device has failed since; none: nothing was planned.
  std::optional<Place> LastPlace(uint64_t graph) const;
  /// That plan.
  std::optional<exec::Plan> LastPlan(uint64_t graph) const;

  /// Whether tuning takes the constants of these segments as cold: tuner::ConstantsAreCold of any
  /// one's default plan.
  bool HaveColdConstants(const CpuInfo& info) const;

  /// The store's costs of all steps, in the order in which they were planned. The session that they
  /// were planned for must still exist.
  std::vector<StepCost> Price(bool cold_constants, Store& store) const;

  /// The only plan as a sample, `run_us` of it unset; none where there are several plans, where
  /// `accelerator` computes no step, or where `store` does not know a kernel's time.
  std::optional<RunSample> Sample(const Device& accelerator, bool cold_constants,
                                  Store& store) const;

 private:
  struct Made {
    uint64_t graph = 0;
    ir::Graph segment;
    exec::Plan plan;
    Place place;
  };
  /// Null: none. Holding the mutex.
  const Made* Last(uint64_t graph) const;

  std::shared_ptr<planner::PlanSource> plans_;
  mutable std::mutex mutex_;
  std::vector<Made> made_;  // guarded
};

/// The times of steps in a typical run: the mean over the middle half of the runs, ordered by their
/// totals. Such means add up to the time of such a run. Medians of steps do not, because each run
/// has other late steps (5 % short of MobileNetV2 on two threads). Not synchronised.
class StepTimes {
 public:
  /// Adds a run. Runs of other steps than the first one are left out.
  void Add(const std::vector<exec::StepProfile>& run);

  /// A sample for each of `costs`, which are the steps of the runs; its halves are every other one
  /// of the typical runs. Empty where they are not, or where there were fewer than two runs.
  std::vector<StepSample> Samples(const std::vector<StepCost>& costs) const;

 private:
  std::vector<const std::vector<double>*> TypicalRuns() const;

  std::vector<std::string> kernels_;       // of the steps
  std::vector<std::vector<double>> runs_;  // microseconds of each step
};

/// The times of steps in rounds of comparisons, each of which includes the default plan. Other
/// programs slow a machine down for seconds (up to 1.6 times), so each round has its own pace. Not
/// synchronised.
class RoundSamples {
 public:
  /// `default_us`: the median run of the default plan in the round.
  void Add(std::vector<StepSample> samples, double default_us);
  /// All steps at the pace of the round in which the default plan was fastest.
  std::vector<StepSample> AtOnePace() const;
  /// Of the default plan; 0: no round yet.
  double least_us() const { return least_us_; }

 private:
  struct Round {
    std::vector<StepSample> samples;
    double default_us = 0;
  };
  std::vector<Round> rounds_;
  double least_us_ = 0;
};

/// Whether `costs` are the steps of `run`.
bool AreStepsOf(const std::vector<exec::StepProfile>& run, const std::vector<StepCost>& costs);

}  // namespace fettle::tuner
