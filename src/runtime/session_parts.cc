#include "runtime/session_parts.h"

#include <algorithm>
#include <set>

#include "passes/pipeline.h"
#include "planner/carried_plans.h"

namespace fettle::runtime {

Result<std::shared_ptr<const ir::Graph>> GraphFor(const Model& model,
                                                  const std::vector<std::string>& extra_outputs) {
  if (extra_outputs.empty()) return model.shared_graph();
  auto graph = std::make_shared<ir::Graph>(model.imported_graph());
  for (const std::string& name : extra_outputs) {
    const auto id = graph->FindValue(name);
    if (!id)
      return Error(StatusCode::kNotFound, "{}: the model has no value '{}'", model.name(), name);
    if (std::find(graph->outputs.begin(), graph->outputs.end(), *id) == graph->outputs.end()) {
      graph->outputs.push_back(*id);
    }
  }
  RETURN_IF_ERROR(passes::Optimise(*graph));
  return std::shared_ptr<const ir::Graph>(graph);
}

Status CheckKinds(const std::vector<std::shared_ptr<const Device>>& accelerators) {
  std::set<DeviceKind> kinds = {DeviceKind::kCpu};
  for (const auto& device : accelerators) {
    if (!kinds.insert(device->kind()).second)
      return InvalidArgument(
          "devices: '{}' is listed twice; a session takes at most one of each kind",
          DeviceKindName(device->kind()));
  }
  return OkStatus();
}

std::shared_ptr<planner::PlanSource> PlansFor(const Model& model, const SessionOptions& options) {
  if (options.plans != nullptr) return options.plans;
  std::shared_ptr<planner::PlanSource> carried = planner::CarriedPlans();
  return model.plans() == nullptr ? carried : planner::PlansOf(model.plans(), carried);
}

planner::Limits LimitsOf(const SessionOptions& options, int threads) {
  return {.threads = threads,
          .reference_only = options.reference_only,
          .preferred =
              options.accelerator() == nullptr ? DeviceKind::kCpu : options.accelerator()->kind(),
          .accelerator_only = options.accelerator_only && options.accelerator() != nullptr,
          .precision = options.precision,
          .memory = options.memory};
}

}  // namespace fettle::runtime
