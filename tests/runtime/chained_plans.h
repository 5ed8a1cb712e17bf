// Plans before tuning whose steps are launched in given chains.
#pragma once

#include <vector>

#include "planner/plan_source.h"
#include "planner/planner.h"

namespace fettle {

/// The preferred plan with chains; `plan` is the last that it made.
class ChainedPlans final : public planner::PlanSource {
 public:
  explicit ChainedPlans(std::vector<exec::StepChain> chains) : chains_(std::move(chains)) {}
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    ASSIGN_OR_RETURN(plan, planner::MakePlan(segment, devices, limits));
    plan.chains = chains_;
    return plan;
  }
  exec::Plan plan;

 private:
  std::vector<exec::StepChain> chains_;
};

}  // namespace fettle
