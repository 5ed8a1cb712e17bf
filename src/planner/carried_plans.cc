#include "planner/carried_plans.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include "base/log.h"
#include "base/memory_budget.h"
#include "planner/planner.h"

namespace fettle::planner {
namespace {

constexpr size_t kMostKept = 16, kMostTried = 4;

/// A graph as decisions depend on it: what may not differ, and what may a little.
struct Outline {
  std::vector<int64_t> structure, extents;

  explicit Outline(const ir::Graph& graph) {
    const auto add_ids = [&](const std::vector<ir::ValueId>& ids) {
      structure.push_back(std::ssize(ids));
      for (ir::ValueId id : ids) structure.push_back(static_cast<int64_t>(id));
    };
    add_ids(graph.inputs);
    add_ids(graph.outputs);
    for (const ir::Node& node : graph.nodes()) {
      structure.push_back(std::bit_cast<intptr_t>(&*node.op));
      add_ids(node.inputs);
      add_ids(node.outputs);
    }
    for (const ir::Value& value : graph.values()) {
      structure.push_back(4 * value.shape->rank() + (value.is_constant() ? 1 : 0));
      structure.push_back(static_cast<int64_t>(value.dtype));
      extents.insert(extents.end(), value.shape->dims().begin(), value.shape->dims().end());
    }
  }
};

struct Known {
  Outline outline;
  Limits limits;
  const Device* cpu;
  Decision decision;
  std::vector<int> tastes;  // of the decision's kernels
  std::string shapes;
};

/// How far the extents are from each other: the largest ratio; 0: of another regime.
double Distance(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  double most = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const auto [least, greatest] = std::minmax(a[i], b[i]);
    if (least <= 1 || greatest > kCarriedRatio * least) return 0;
    most = std::max(most, static_cast<double>(greatest) / static_cast<double>(least));
  }
  return most;
}

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
    if (limits.reference_only || !devices.beside_cpu().empty())
      return MakePlan(segment, devices, limits);
    Outline outline(segment);
    if (!FitsMemory(segment)) return MakePlan(segment, devices, limits);
    for (const std::shared_ptr<const Known>& known : Nearest(outline, devices, limits)) {
      Result<exec::Plan> plan =
          Apply(segment, known->decision, devices, limits.threads, ThreadsOfGroups::kAnew);
      if (plan.ok() && TastesOf(*plan) == known->tastes) {
        plan->is_default = true;
        plan->carried_from = known->shapes;
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
                                             InputShapes(segment)}));
    return plan;
  }

 private:
  /// Those of the segment's regime, nearest first.
  std::vector<std::shared_ptr<const Known>> Nearest(const Outline& outline,
                                                    const DeviceSet& devices,
                                                    const Limits& limits) {
    std::vector<std::pair<double, std::shared_ptr<const Known>>> near;
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<const Known>& known : known_) {
      if (known->cpu != &devices.cpu() || known->limits != limits ||
          known->outline.structure != outline.structure)
        continue;
      const double distance = Distance(known->outline.extents, outline.extents);
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

  std::mutex mutex_;
  std::vector<std::shared_ptr<const Known>> known_;  // used longest ago first
};

}  // namespace

std::shared_ptr<PlanSource> CarriedPlans() { return std::make_shared<Carried>(); }

}  // namespace fettle::planner
