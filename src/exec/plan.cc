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

namespace {

/// More work-groups than any device has at once.
constexpr int kMostGroups = 1 << 16;

/// Whether step `index` can be launched with others of `device`: conversions that go elsewhere wait
/// for the host.
bool StaysOn(const Plan& plan, int index, DeviceKind device) {
  const PlannedStep& step = plan.steps[index];
  if (device == DeviceKind::kCpu || DeviceOf(plan, step) != device) return false;
  return step.kernel != nullptr ||
         plan.tensors[step.inputs[0]].state.device == plan.tensors[step.outputs[0]].state.device;
}

}  // namespace

bool MayChain(const Plan& plan, int index) {
  return StaysOn(plan, index, DeviceOf(plan, plan.steps[index]));
}

Status CheckChains(const Plan& plan) {
  int end = 0;
  for (const StepChain& chain : plan.chains) {
    if (chain.begin < end || chain.end < chain.begin + 2 || chain.end > std::ssize(plan.steps) ||
        chain.groups < 0 || chain.groups > kMostGroups)
      return Error(StatusCode::kCorrupt, "the plan has {} steps, and no chain from {} to {} by {}",
                   plan.steps.size(), chain.begin, chain.end, chain.groups);
    end = chain.end;
    const DeviceKind device = DeviceOf(plan, plan.steps[chain.begin]);
    for (int i = chain.begin; i < end; ++i)
      if (!StaysOn(plan, i, device))
        return Error(StatusCode::kCorrupt, "step {} of the plan cannot be part of a chain", i);
  }
  return OkStatus();
}

}  // namespace fettle::exec
