#include "kernels/cpu/quantised/tail.h"

namespace fettle::kernels {

Result<std::optional<elementwise::Program>> CompileQuantTail(const ir::Graph& group,
                                                             const QuantisedGroup& q,
                                                             const StateAssignment& states) {
  if (q.requantise) return std::optional<elementwise::Program>();
  if (group.outputs.size() != 1) return Unsupported("several outputs");
  if (group.value(group.outputs[0]).shape != group.value(q.anchor()).shape)
    return Unsupported("the output does not have the product's shape");
  if (group.outputs[0] == q.anchor()) {
    const DType storage = states.outputs[0].storage;
    if (storage != DType::kF32 && storage != DType::kI32)
      return Unsupported("an output of this type");
    return std::optional<elementwise::Program>();
  }
  ASSIGN_OR_RETURN(
      elementwise::Program program,
      elementwise::Program::Compile(group, states, elementwise::Geometry::kRows, q.anchor()));
  return std::optional<elementwise::Program>(std::move(program));
}

}  // namespace fettle::kernels
