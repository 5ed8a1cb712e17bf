#include "kernels/cpu/conv/operands.h"

#include "kernels/cpu/epilogue/epilogue.h"

namespace fettle::kernels {

Result<ConvOperands> ReadConvOperands(const ir::Graph& group, std::string_view op,
                                      bool allow_computed) {
  if (group.nodes().empty() || group.nodes()[0].op != op) return Unsupported("node 0 is no {}", op);
  const ir::Node& node = group.nodes()[0];
  ConvOperands operands{node.input(0), node.input(1), node.input(2)};
  if (group.value(operands.x).is_constant()) return Unsupported("the input is constant");
  operands.computed = !group.value(operands.w).is_constant();
  if (operands.computed && !allow_computed) return Unsupported("the weights are not constant");
  if (operands.b != ir::kAbsent && group.value(operands.b).is_constant() == operands.computed)
    return Unsupported("of weights and bias one is constant and one is not");
  if (!IsFloat(group.value(operands.x).dtype)) return Unsupported("not a float type");
  return operands;
}

Result<StateAssignment> ConvStates(const ir::Graph& group, const ConvOperands& operands) {
  if (operands.computed && operands.w == operands.x)
    return Unsupported("the input is its own weights");
  ASSIGN_OR_RETURN(StateAssignment states, ChannelsLastStates(group));
  if (operands.computed)
    states.inputs[static_cast<size_t>(IndexOf(group.inputs, operands.w))].layout = {};
  return states;
}

}  // namespace fettle::kernels
