#include "jobs/plan_in_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/terminal.h"

namespace fettle::tools {
namespace {

constexpr std::pair<std::string_view, std::string_view> kOrigins[] = {
    {"package", "the package's plan"},
    {"regime", "the plan of the nearest size that was tuned"},
    {"similar", "a plan that was tuned for other shapes"},
    {"database", "the plan that tuning kept"},
    {"preferences", "the default plan"},
};

/// All parameters of a step, those too that are left at their defaults.
kernels::Params ParamsOf(const exec::PlannedStep& step, const DeviceSet& devices) {
  kernels::Params params =
      kernels::DefaultParams(*step.kernel, step.problem, *devices.Find(step.kernel->device()));
  for (const auto& [name, value] : step.params) params[name] = value;
  return params;
}

}  // namespace

std::string PlanInUse::Text() const {
  const auto text =
      std::ranges::find(kOrigins, origin, [](const auto& known) { return known.first; })->second;
  if (differing == 0) return fmt::format("run and bench take {}, which is this one", text);
  return fmt::format("run and bench take {}, which differs in {} of {}", text, differing,
                     Count(groups, "group"));
}

void CountDiffering(const exec::Plan& shown, const exec::Plan& used, const DeviceSet& devices,
                    PlanInUse& in_use) {
  std::map<std::string, const exec::PlannedStep*> steps;
  for (const exec::PlannedStep& step : used.steps)
    if (step.kernel != nullptr) steps.emplace(exec::NodesOf(step), &step);
  for (const exec::PlannedStep& step : shown.steps) {
    if (step.kernel == nullptr) continue;
    ++in_use.groups;
    const auto found = steps.find(exec::NodesOf(step));
    const bool same = found != steps.end() && found->second->kernel == step.kernel &&
                      found->second->problem.states == step.problem.states &&
                      found->second->problem.threads == step.problem.threads &&
                      ParamsOf(*found->second, devices) == ParamsOf(step, devices);
    in_use.differing += same ? 0 : 1;
  }
}

}  // namespace fettle::tools
