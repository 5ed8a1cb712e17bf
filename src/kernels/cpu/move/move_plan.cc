#include "kernels/cpu/move/move_plan.h"

#include <algorithm>

#include "ops/op.h"

namespace fettle::kernels {
namespace {

Result<MoveOperand> MakeOperand(const ir::Graph& group, ir::ValueId id,
                                const std::vector<ir::ValueId>& ids,
                                const std::vector<State>& states) {
  MoveOperand operand;
  if (id == ir::kAbsent) return operand;
  const ir::Value& value = group.value(id);
  operand.id = id;
  operand.shape = *value.shape;
  operand.strides = RowMajorStrides(operand.shape);
  operand.constant = value.constant.get();
  if (value.is_constant()) return operand;
  operand.index = static_cast<int>(std::find(ids.begin(), ids.end(), id) - ids.begin());
  const Layout& layout = states[static_cast<size_t>(operand.index)].layout;
  const std::optional<Dims> strides = AxisStrides(operand.shape, layout);
  if (!strides) return Unsupported("blocked layouts are not moved by strides");
  operand.strides = *strides;
  return operand;
}

const MovePlanner* FindPlanner(std::string_view op) {
  for (std::span<const MovePlanner> family :
       {JoinPlanners(), PadPlanners(), RepeatPlanners(), ReshapePlanners(), ShufflePlanners()}) {
    for (const MovePlanner& planner : family) {
      if (planner.op == op) return &planner;
    }
  }
  return nullptr;
}

}  // namespace

Result<MoveContext> MoveContext::Make(const ir::Graph& group, const StateAssignment& states) {
  MoveContext context;
  context.node_ = &group.nodes()[0];
  for (ir::ValueId id : context.node_->inputs) {
    ASSIGN_OR_RETURN(MoveOperand operand, MakeOperand(group, id, group.inputs, states.inputs));
    context.inputs_.push_back(std::move(operand));
  }
  for (ir::ValueId id : context.node_->outputs) {
    ASSIGN_OR_RETURN(MoveOperand operand, MakeOperand(group, id, group.outputs, states.outputs));
    context.outputs_.push_back(std::move(operand));
  }
  return context;
}

Result<std::vector<int64_t>> MoveContext::Ints(int i) const {
  std::vector<int64_t> ints;
  if (!has_input(i)) return ints;
  const Constant* constant = input(i).constant;
  if (constant == nullptr) return Unsupported("input {} is only known at run time", i);
  for (int64_t k = 0; k < constant->elements(); ++k) ints.push_back(constant->GetInt(k));
  return ints;
}

Result<std::vector<Move>> PlanMoves(const MoveContext& context) {
  const MovePlanner* planner = FindPlanner(context.node().op);
  if (planner == nullptr) return Unsupported("the operator does more than move elements");
  // With nothing to move, attributes may be beyond what strides can hold.
  const MoveOperand& y = context.output(0);
  if (context.num_outputs() == 1 && y.shape.elements() == 0) return std::vector<Move>{};
  ASSIGN_OR_RETURN(std::vector<Move> moves, planner->plan(context));
  for (const Move& move : moves) {
    if (move.axes.size() > kMaxCopyAxes)
      return Unsupported("more than {} axes are not moved by strides", kMaxCopyAxes);
  }
  return moves;
}

bool IsMoved(const ir::Node& node, size_t i) {
  const ops::OpDesc* op = ops::Find(node.op);
  return op != nullptr && (i >= 32 || (op->host_inputs >> i & 1) == 0);
}

}  // namespace fettle::kernels
