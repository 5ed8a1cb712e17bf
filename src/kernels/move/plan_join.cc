// Operators that cut windows out of tensors, or put tensors together.
#include "kernels/move/move_plan.h"
#include "ops/concat/op.h"
#include "ops/slice/op.h"

namespace fettle::kernels {
namespace {

/// All axes of `window`, which is a window of `x` or `y` (or the whole of it).
std::vector<MoveAxis> WindowAxes(const Shape& window, const MoveOperand& x, const MoveOperand& y) {
  std::vector<MoveAxis> axes;
  for (size_t i = 0; i < x.strides.size(); ++i)
    axes.push_back({window[static_cast<int>(i)], x.strides[i], y.strides[i]});
  return axes;
}

Result<std::vector<Move>> PlanConcat(const MoveContext& context) {
  const MoveOperand& y = context.output(0);
  const int axis = *NormaliseAxis(context.node().attributes.Int("axis", 1), y.shape.rank());
  std::vector<Move> moves;
  int64_t begin = 0;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const MoveOperand& x = context.input(i);
    if (x.shape.elements() > 0) {
      moves.push_back(
          {.source = i, .dst_offset = begin * y.strides[axis], .axes = WindowAxes(x.shape, x, y)});
    }
    begin += x.shape[axis];
  }
  return moves;
}

Result<std::vector<Move>> PlanSplit(const MoveContext& context) {
  const MoveOperand& x = context.input(0);
  const int axis = *NormaliseAxis(context.node().attributes.Int("axis"), x.shape.rank());
  ASSIGN_OR_RETURN(const std::vector<int64_t> given, context.Ints(1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                   ops::ReadSplitSizes(context.node(), given, x.shape[axis]));
  std::vector<Move> moves;
  int64_t begin = 0;
  for (int i = 0; i < context.num_outputs(); ++i) {
    const MoveOperand& y = context.output(i);
    if (y.id != ir::kAbsent && y.shape.elements() > 0) {
      moves.push_back(
          {.output = i, .src_offset = begin * x.strides[axis], .axes = WindowAxes(y.shape, x, y)});
    }
    begin += sizes[i];
  }
  return moves;
}

Result<std::vector<Move>> PlanSlice(const MoveContext& context) {
  const MoveOperand &x = context.input(0), &y = context.output(0);
  std::vector<int64_t> operands[5];
  for (int i = 1; i <= 4; ++i) {
    ASSIGN_OR_RETURN(operands[i], context.Ints(i));
  }
  ASSIGN_OR_RETURN(const ops::SliceWindow window,
                   ops::ResolveSlice(x.shape, operands[1], operands[2], operands[3], operands[4]));
  Move move{.axes = WindowAxes(y.shape, x, y)};
  for (size_t i = 0; i < move.axes.size(); ++i) {
    move.src_offset += window.start[i] * x.strides[i];
    move.axes[i].src_stride = x.strides[i] * window.step[i];
  }
  return std::vector<Move>{std::move(move)};
}

constexpr MovePlanner kPlanners[] = {
    {"Concat", PlanConcat}, {"Slice", PlanSlice}, {"Split", PlanSplit}};

}  // namespace

std::span<const MovePlanner> JoinPlanners() { return kPlanners; }

}  // namespace fettle::kernels
