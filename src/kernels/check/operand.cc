#include "kernels/check/operand.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

std::vector<Operand> OperandList(const ir::Graph& group, const std::vector<ir::ValueId>& ids,
                                 const std::vector<State>& states) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < ids.size(); ++i) {
    const ir::Value& value = group.value(ids[i]);
    operands.push_back({*value.shape, value.dtype, states[i]});
  }
  return operands;
}

bool IsNarrower(const Operand& operand) {
  return RowOf(operand.state.storage).bits < RowOf(operand.dtype).bits;
}

}  // namespace

Operands OperandsOf(const Problem& problem) {
  const ir::Graph& group = *problem.group;
  return {OperandList(group, group.inputs, problem.states.inputs),
          OperandList(group, group.outputs, problem.states.outputs)};
}

bool StoresLess(const Operands& operands) {
  return std::any_of(operands.inputs.begin(), operands.inputs.end(), IsNarrower) ||
         std::any_of(operands.outputs.begin(), operands.outputs.end(), IsNarrower);
}

Tolerance WidenedForStorage(Tolerance tolerance, const Operands& operands, double largest) {
  const auto widen = [&](const std::vector<Operand>& list) {
    for (const Operand& operand : list) {
      if (!IsNarrower(operand)) continue;
      const double step = KernelTolerance(operand.state.storage, 1).rtol;
      tolerance.atol = std::max(tolerance.atol, 4 * step * largest);
      tolerance.rtol = std::max(tolerance.rtol, step);
    }
  };
  widen(operands.inputs);
  widen(operands.outputs);
  return tolerance;
}

}  // namespace fettle::kernels
