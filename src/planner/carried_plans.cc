#include "planner/carried_plans.h"

#include <algorithm>
#include <mutex>

#include "base/log.h"
#include "base/memory_budget.h"
#include "passes/outline.h"
#include "planner/known_steps.h"
#include "planner/planner.h"

namespace fettle::planner {
namespace {

constexpr size_t kMostKept = 16, kMostTried = 4;

struct Known {
  passes::Outline outline;
  Limits limits;
  const Device* cpu;
  Decision decision;
  std::vector<int> tastes;  // of the decision's kernels
  std::string shapes;
  /// By group: all steps until it is carried for the first time, then those that did not change.
  std::vector<exec::PlannedStep> steps;
  bool was_carried = false;
};

std::vector<int> TastesOf(const exec::Plan& plan) {
  std::vector<int> tastes;
  for (const exec::PlannedStep& step : plan.steps)
    if (step.match != nullptr) tastes.push_back(step.match->taste());
  return tastes;
}

/// Whether memory holds each value; where it does not, planning says which.
bool FitsMemory(const ir::Graph& graph) {
  const std::shared_ptr<MemoryBudget> budget = MemoryBudget::Current();
  return std::ranges::all_of(graph.values(), [&](const ir::Value& value) {
    return budget->CheckAlone(StorageBytes(value.dtype, value.shape->elements())).ok();
  });
}

class Carried final : public PlanSource {
 public:
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const Limits& limits) override {
    if (!CarriesOver(devices, limits)) return MakePlan(segment, devices, limits);
    passes::Outline outline(segment);
    if (!FitsMemory(segment)) return MakePlan(segment, devices, limits);
    for (const std::shared_ptr<const Known>& known : Nearest(outline, devices, limits)) {
      Result<exec::Plan> plan = Apply(segment, known->decision, devices, limits.threads,
                                      ThreadsOfGroups::kAnew, known->steps);
      if (plan.ok() && TastesOf(*plan) == known->tastes) {
        plan->is_default = true;
        plan->carried_from = known->shapes;
        if (!known->was_carried) KeepUnchanged(known, *plan);
        Log(LogLevel::kInfo, "{}: the plan of {} is carried over", InputShapes(segment),
            known->shapes);
        return plan;
      }
    }
    ASSIGN_OR_RETURN(Decision decision, PreferredDecision(segment, devices, limits));
    ASSIGN_OR_RETURN(exec::Plan plan, Apply(segment, decision, devices, limits.threads));
    plan.is_default = true;
    std::vector<int> tastes = TastesOf(plan);
    Keep(std::make_shared<const Known>(Known{std::move(outline), limits, &devices.cpu(),
                                             std::move(decision), std::move(tastes),
                                             InputShapes(segment), StepsOfGroups(plan)}));
    return plan;
  }

  bool CarriesOver(const DeviceSet& devices, const Limits& limits) const override {
    return !limits.reference_only && devices.beside_cpu().empty();
  }

 private:
  /// Those of the segment's regime, nearest first.
  std::vector<std::shared_ptr<const Known>> Nearest(const passes::Outline& outline,
                                                    const DeviceSet& devices,
                                                    const Limits& limits) {
    std::vector<std::pair<double, std::shared_ptr<const Known>>> near;
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<const Known>& known : known_) {
      if (known->cpu != &devices.cpu() || known->limits != limits ||
          known->outline.structure != outline.structure)
        continue;
      const double distance = passes::Distance(known->outline.extents, outline.extents);
      if (distance > 0) near.emplace_back(distance, known);
    }
    std::ranges::stable_sort(near, {}, [](const auto& one) { return one.first; });
    std::vector<std::shared_ptr<const Known>> nearest;
    for (size_t i = 0; i < std::min(near.size(), kMostTried); ++i)
      nearest.push_back(near[i].second);
    if (!nearest.empty()) {  // used last
      const auto first = std::ranges::find(known_, nearest[0]);
      std::rotate(first, first + 1, known_.end());
    }
    return nearest;
  }

  void Keep(std::shared_ptr<const Known> known) {
    const std::lock_guard lock(mutex_);
    if (known_.size() == kMostKept) known_.erase(known_.begin());
    known_.push_back(std::move(known));
  }

  void KeepUnchanged(const std::shared_ptr<const Known>& known, exec::Plan& carried) {
    auto pruned = std::make_shared<Known>(*known);
    pruned->was_carried = true;
    pruned->steps = UnchangedSteps(std::move(pruned->steps), carried);
    const std::lock_guard lock(mutex_);
    std::replace(known_.begin(), known_.end(), known,
                 std::shared_ptr<const Known>(std::move(pruned)));
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<const Known>> known_;  // used longest ago first
};

}  // namespace

std::shared_ptr<PlanSource> CarriedPlans() { return std::make_shared<Carried>(); }

}  // namespace fettle::planner
