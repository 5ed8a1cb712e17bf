#include "kernels/move/move_plan.h"

#include <algorithm>

#include "ops/op.h"

namespace fettle::kernels {
namespace {

MoveOperand MakeOperand(const ir::Graph& group, ir::ValueId id, const std::vector<ir::ValueId>& ids,
                        const std::vector<State>& states) {
  if (id == ir::kAbsent) return {};
  const ir::Value& value = group.value(id);
  const auto at = std::find(ids.begin(), ids.end(), id) - ids.begin();
  // What is not an operand of the group has no state.
  if (!value.is_constant() && at == std::ssize(ids)) return {};
  MoveOperand operand(*value.shape, value.is_constant() ? Layout::RowMajor() : states[at].layout);
  operand.id = id;
  operand.constant = value.constant.get();
  if (!value.is_constant()) operand.index = static_cast<int>(at);
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

MoveOperand::MoveOperand(Shape of, Layout in)
    : shape(std::move(of)), layout(std::move(in)), strides(shape.dims().size()) {
  if (layout == Layout()) {
    int64_t stride = 1;
    for (int axis = shape.rank(); axis-- > 0; stride *= shape[axis]) strides[axis] = Step{stride};
    return;
  }
  const PhysicalDims dims = ToPhysical(shape, layout);
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = dims.axis[i];
    strides[axis] = layout.BlockOf(axis) == 1 ? Step{dims.stride[i]} : Step{1, axis};
  }
}

MoveContext::MoveContext(const ir::Graph& group, const StateAssignment& states)
    : node_(&group.nodes()[0]) {
  for (ir::ValueId id : node_->inputs)
    inputs_.push_back(MakeOperand(group, id, group.inputs, states.inputs));
  for (ir::ValueId id : node_->outputs)
    outputs_.push_back(MakeOperand(group, id, group.outputs, states.outputs));
}

Result<std::vector<int64_t>> MoveContext::Ints(int i) const {
  std::vector<int64_t> ints;
  if (!has_input(i)) return ints;
  const Constant* constant = input(i).constant;
  if (constant == nullptr) return Unsupported("input {} is only known at run time", i);
  for (int64_t k = 0; k < constant->elements(); ++k) ints.push_back(constant->GetInt(k));
  return ints;
}

bool MovesElements(ir::OpRef op) { return FindPlanner(op) != nullptr; }

Result<std::vector<Move>> ListMoves(const MoveContext& context) {
  const MovePlanner* planner = FindPlanner(context.node().op);
  if (planner == nullptr) return Unsupported("computes moves of elements only");
  // With nothing to move, attributes may be beyond what strides can hold.
  const MoveOperand& y = context.output(0);
  if (context.num_outputs() == 1 && y.shape.elements() == 0) return std::vector<Move>{};
  return planner->plan(context);
}

Result<std::vector<Piece>> PlanMoves(const MoveContext& context) {
  ASSIGN_OR_RETURN(const std::vector<Move> moves, ListMoves(context));
  if (moves.empty()) return std::vector<Piece>{};
  std::vector<Piece> all;
  const MoveOperand nowhere;
  for (const Move& move : moves) {
    const MoveOperand& src = move.source == kZeroSource ? nowhere : context.input(move.source);
    ASSIGN_OR_RETURN(std::vector<Piece> pieces, CutMove(move, src, context.output(move.output)));
    std::move(pieces.begin(), pieces.end(), std::back_inserter(all));
  }
  for (int i = 0; i < context.num_outputs(); ++i) {
    std::vector<Piece> pads = PadPieces(i, context.output(i));
    std::move(pads.begin(), pads.end(), std::back_inserter(all));
  }
  return all;
}

bool TradesAxes(const ir::Node& node) {
  const MovePlanner* planner = FindPlanner(node.op);
  return planner != nullptr && planner->trades_axes;
}

bool IsMoved(const ir::Node& node, size_t i) { return !node.op->ReadsOnHost(i); }

}  // namespace fettle::kernels
