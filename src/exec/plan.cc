#include "exec/plan.h"

#include "kernels/backend.h"

namespace fettle::exec {

std::string NodesOf(const PlannedStep& step) {
  std::string names;
  if (step.kernel == nullptr) return names;
  for (const ir::Node& node : step.problem.group->nodes())
    names += (names.empty() ? "" : "+") + node.name;
  return names;
}

DeviceKind DeviceOf(const Plan& plan, const PlannedStep& step) {
  if (step.kernel != nullptr) return step.kernel->device();
  const auto state = [&](int tensor) { return plan.tensors[tensor].state; };
  return kernels::ConversionDevice(state(step.inputs[0]), state(step.outputs[0]));
}

}  // namespace fettle::exec
