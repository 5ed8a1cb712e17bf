#include "tuner/model/segment_plans.h"

#include <algorithm>

#include "planner/planner.h"
#include "tuner/cost/run_overhead.h"

namespace fettle::tuner {

/// The text of a decision without its times, which change with every lesson.
std::string PlanText(const TunedSegment& segment) {
  planner::Decision decision = segment.decision;
  decision.predicted_us = decision.measured_us = decision.gap = 0;
  for (planner::GroupDecision& group : decision.groups) group.us = 0;
  for (planner::ConversionDecision& conversion : decision.conversions) conversion.us = 0;
  return planner::PrintDecision(*segment.graph, decision);
}

bool SamePlan(const std::vector<TunedSegment>& a, const std::vector<TunedSegment>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TunedSegment& x, const TunedSegment& y) {
                      return x.key == y.key && PlanText(x) == PlanText(y);
                    });
}

/// Sets the times of a decision to what the store knows now; adds what its steps take alone. False
/// where a step has no time.
Result<bool> Reprice(TunedSegment& segment, const runtime::Session& session, bool cold_constants,
                     Store& store, double& alone_us) {
  planner::Decision& decision = segment.decision;
  const int threads = session.limits().threads;
  ASSIGN_OR_RETURN(const exec::Plan plan,
                   planner::Apply(*segment.graph, decision, session.devices(), threads));
  std::vector<StepCost> costs =
      tuner::StepCostsOf(plan, session.devices(), threads, cold_constants, store);
  bool known = true;
  size_t group = 0;
  for (size_t i = 0; i < costs.size(); ++i) {
    double& us = costs[i].us;
    if (plan.steps[i].kernel != nullptr) {
      planner::GroupDecision& decided = decision.groups[group++];
      us = decided.us = costs[i].alone_us > 0 ? us : decided.us;
    } else {
      const exec::PlannedTensor& to = plan.tensors[plan.steps[i].outputs[0]];
      for (planner::ConversionDecision& conversion : decision.conversions)
        if (conversion.to == to.state && segment.graph->value(conversion.value).name == to.name)
          us = conversion.us = costs[i].alone_us > 0 ? us : conversion.us;
    }
    alone_us += costs[i].alone_us > 0 ? costs[i].alone_us : us;
    known = known && (costs[i].known || us > 0);
  }
  decision.predicted_us =
      tuner::RunUs(costs) + tuner::RunOverheads(store).Us(plan, session.devices());
  return known;
}

}  // namespace fettle::tuner
