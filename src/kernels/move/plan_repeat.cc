// Operators that repeat elements.
#include "kernels/move/move_plan.h"

namespace fettle::kernels {
namespace {

Result<std::vector<Move>> PlanExpand(const MoveContext& context) {
  const MoveOperand &x = context.input(0), &y = context.output(0);
  Move move;
  const int lead = y.shape.rank() - x.shape.rank();
  for (int axis = 0; axis < y.shape.rank(); ++axis) {
    const bool repeats = axis < lead || x.shape[axis - lead] == 1;
    move.axes.push_back(
        {y.shape[axis], repeats ? Step() : x.strides[axis - lead], y.strides[axis]});
  }
  return std::vector<Move>{std::move(move)};
}

/// Each axis becomes two: the repeats, and the input's own.
Result<std::vector<Move>> PlanTile(const MoveContext& context) {
  const MoveOperand &x = context.input(0), &y = context.output(0);
  if (y.shape.elements() == 0) return std::vector<Move>{};
  Move move;
  for (int axis = 0; axis < y.shape.rank(); ++axis) {
    const size_t i = axis;
    move.axes.push_back({y.shape[axis] / x.shape[axis], Step(), y.strides[i] * x.shape[axis]});
    move.axes.push_back({x.shape[axis], x.strides[i], y.strides[i]});
  }
  return std::vector<Move>{std::move(move)};
}

constexpr MovePlanner kPlanners[] = {{"Expand", PlanExpand}, {"Tile", PlanTile}};

}  // namespace

std::span<const MovePlanner> RepeatPlanners() { return kPlanners; }

}  // namespace fettle::kernels
