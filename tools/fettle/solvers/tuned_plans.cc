#include "solvers/tuned_plans.h"

#include "base/clock.h"

namespace fettle::tools {

Result<planner::Decision> TunedPlans::Decide(const ir::Graph& segment, const DeviceSet& devices,
                                             const planner::Limits& limits) {
  tuner::TuneOptions options = options_;
  if (seconds_ > 0) options.deadline_ns = NowNs() + static_cast<int64_t>(seconds_ * 1e9);
  const auto tune = [&] {
    tuner::TuneReport report;
    auto decision = tuner::TuneGraph(segment, devices, limits, options, store_, &report);
    measured_ += report.measured;
    entries_ += report.entries;
    return decision;
  };
  Result<planner::Decision> decision = tune();
  keeps_layout_ |= decision.ok();
  const bool has_none =
      !options.layout.empty() && decision.status().code() == StatusCode::kInvalidArgument;
  if (!has_none) return decision;
  no_layout_ = decision.status();
  options.layout.clear();
  return tune();
}

Result<exec::Plan> TunedPlans::PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                                       const planner::Limits& limits) {
  ASSIGN_OR_RETURN(planner::Decision decision, Decide(segment, devices, limits));
  auto plan = planner::Apply(segment, decision, devices, limits.threads);
  decisions_.push_back(std::move(decision));
  return plan;
}

double TunedPlans::predicted_us() const {
  double us = 0;
  for (const planner::Decision& decision : decisions_) us += decision.predicted_us;
  return us;
}

}  // namespace fettle::tools
