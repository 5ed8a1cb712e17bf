#include "exec/plan.h"

#include "kernels/backend.h"

namespace fettle::exec {

DeviceKind DeviceOf(const Plan& plan, const PlannedStep& step) {
  if (step.kernel != nullptr) return step.kernel->device();
  const auto state = [&](int tensor) { return plan.tensors[tensor].state; };
  return kernels::ConversionDevice(state(step.inputs[0]), state(step.outputs[0]));
}

}  // namespace fettle::exec
