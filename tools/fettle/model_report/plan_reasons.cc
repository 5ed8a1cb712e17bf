#include "model_report/plan_reasons.h"

#include <map>

#include "planner/planner.h"
#include "report/plan_report.h"
#include "tuner/cost/calibrated_costs.h"
#include "tuner/cost/residency.h"
#include "tuner/network/level.h"
#include "tuner/network/slot_costs.h"

namespace fettle::tools {
namespace {

/// How well an entry agrees with a step: kernel, states, threads, in this order; 0: another kernel.
int Agreement(const planner::Entry& entry, const exec::PlannedStep& step) {
  if (entry.kernel != step.kernel) return 0;
  return 1 + 2 * (entry.states == step.problem.states ? 1 : 0) +
         (entry.threads == step.problem.threads ? 1 : 0);
}

/// The place of a (kernel, reason) in the list, which it is added to.
class ReasonTable {
 public:
  explicit ReasonTable(Json& list) : list_(list) {}
  size_t Add(const planner::Rejection& one) {
    const auto [at, is_new] =
        places_.emplace(std::pair(std::string(one.kernel), one.reason), list_.size());
    if (is_new) list_.push_back({{"kernel", one.kernel}, {"reason", one.reason}});
    return at->second;
  }

 private:
  Json& list_;
  std::map<std::pair<std::string, std::string>, size_t> places_;
};

Json ReasonJson(const planner::Explained& one, ReasonTable& reasons) {
  Json json = ExplainedJson(one, nullptr);
  json["cost_ms"] = json["ms"];
  // What the step itself says, as it ran.
  for (const char* name : {"node", "op", "kernel", "ms", "state_in", "state_out"}) json.erase(name);
  Json rejected = Json::array();
  for (const planner::Rejection& rejection : one.rejected)
    rejected.push_back(reasons.Add(rejection));
  json["rejected"] = std::move(rejected);
  return json;
}

}  // namespace

Result<PlanReasons> PlanReasons::Create(const PlannedSegments::Segment& segment,
                                        const DeviceSet& devices, const planner::Limits& limits) {
  PlanReasons reasons(segment);
  ASSIGN_OR_RETURN(reasons.catalogue_, planner::ListCatalogue(segment.graph, devices, limits));
  reasons.FindPlaces();
  return reasons;
}

void PlanReasons::FindPlaces() {
  std::map<std::string, int> instances;
  for (size_t i = 0; i < catalogue_.instances.size(); ++i)
    instances.emplace(planner::NamesOf(segment_->graph, catalogue_.instances[i].nodes),
                      static_cast<int>(i));
  for (const exec::PlannedStep& step : segment_->plan.steps) {
    Place& place = places_.emplace_back();
    if (step.kernel == nullptr) continue;
    const auto instance = instances.find(exec::NodesOf(step));
    if (instance == instances.end()) continue;
    const int kind_id = catalogue_.instances[static_cast<size_t>(instance->second)].kind;
    const planner::Kind& kind = catalogue_.kinds[static_cast<size_t>(kind_id)];
    int best = 0;
    for (size_t e = 0; e < kind.entries.size(); ++e) {
      const int agreement = Agreement(kind.entries[e], step);
      if (agreement <= best) continue;
      best = agreement;
      place = {instance->second, static_cast<int>(e)};
    }
  }
}

Json PlanReasons::Explain(const DeviceSet& devices, const planner::Limits& limits,
                          tuner::Store& store, Json& reasons) const {
  const tuner::Level level = tuner::Level::kNormal;
  tuner::SlotCosts alone(devices, store,
                         tuner::SlotOptionsOf(level, limits.precision != planner::Precision::kHigh),
                         tuner::ConstantsAreCold(segment_->plan, GetCpuInfo()));
  tuner::CalibratedCosts costs(alone, devices, store, /*wants_workspaces=*/false);
  ReasonTable table(reasons);
  Json all = Json::array();
  for (const Place& place : places_) {
    if (place.entry < 0) {
      all.push_back(nullptr);
      continue;
    }
    const planner::Instance& instance = catalogue_.instances[static_cast<size_t>(place.instance)];
    all.push_back(
        ReasonJson(planner::ExplainEntry(segment_->graph, instance,
                                         catalogue_.kinds[static_cast<size_t>(instance.kind)],
                                         static_cast<size_t>(place.entry), costs),
                   table));
  }
  return all;
}

}  // namespace fettle::tools
