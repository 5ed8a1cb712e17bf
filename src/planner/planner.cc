#include "planner/planner.h"

#include "planner/assignment.h"
#include "planner/cover.h"

namespace fettle::planner {

Result<Decision> PreferredDecision(const ir::Graph& graph, const DeviceSet& devices,
                                   const Limits& limits) {
  ASSIGN_OR_RETURN(const Cover cover, GreedyCover(graph, devices, limits));
  ASSIGN_OR_RETURN(const std::vector<size_t> order, ScheduleCover(graph, cover));
  return AssignStates(graph, cover, order, limits.threads);
}

Result<exec::Plan> MakePlan(const ir::Graph& graph, const DeviceSet& devices,
                            const Limits& limits) {
  ASSIGN_OR_RETURN(const Decision decision, PreferredDecision(graph, devices, limits));
  ASSIGN_OR_RETURN(exec::Plan plan, Apply(graph, decision, devices, limits.threads));
  plan.is_default = true;
  return plan;
}

}  // namespace fettle::planner
