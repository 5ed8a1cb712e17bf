#include "planner/known_steps.h"

#include "exec/kept_kernel.h"

namespace fettle::planner {

std::vector<exec::PlannedStep> StepsOfGroups(const exec::Plan& plan) {
  std::vector<exec::PlannedStep> steps;
  for (const exec::PlannedStep& step : plan.steps) {
    if (step.match == nullptr) continue;
    exec::PlannedStep& kept = steps.emplace_back(step);
    kept.inputs.clear();
    kept.outputs.clear();
  }
  return steps;
}

std::vector<exec::PlannedStep> UnchangedSteps(std::vector<exec::PlannedStep> known,
                                              exec::Plan& plan) {
  auto at = known.begin();
  for (exec::PlannedStep& step : plan.steps) {
    if (step.match == nullptr) continue;
    exec::PlannedStep& kept = *at++;
    if (step.problem.group == kept.problem.group) {
      step.kept = kept.kept = std::make_shared<exec::KeptKernel>();
    } else {
      kept = {};
    }
  }
  return known;
}

}  // namespace fettle::planner
