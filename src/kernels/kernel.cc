#include "kernels/kernel.h"

#include <algorithm>

namespace fettle::kernels {

Status Applies(const KernelDesc& kernel, const Problem& problem, const Device& device) {
  ASSIGN_OR_RETURN(const std::vector<StateAssignment> candidates,
                   kernel.candidates(*problem.group, device));
  if (std::find(candidates.begin(), candidates.end(), problem.states) != candidates.end())
    return OkStatus();
  return Unsupported("{}: takes none of its operands in these states", kernel.name);
}

Params DefaultParams(const KernelDesc& kernel, const Problem& problem, const Device& device) {
  return kernel.default_params == nullptr ? Params() : kernel.default_params(problem, device);
}

StateAssignment RowMajorStates(const ir::Graph& group) {
  StateAssignment states;
  for (ir::ValueId id : group.inputs) states.inputs.push_back({.storage = group.value(id).dtype});
  for (ir::ValueId id : group.outputs) states.outputs.push_back({.storage = group.value(id).dtype});
  return states;
}

}  // namespace fettle::kernels
