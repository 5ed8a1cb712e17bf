// Operators that trade channels for space.
#include "kernels/move/move_plan.h"

namespace fettle::kernels {
namespace {

/// Block positions become pixels: channel (bh, bw, c), or (c, bh, bw) in mode CRD, of pixel (h, w)
/// goes to channel c of pixel (h * block + bh, w * block + bw).
Result<std::vector<Move>> PlanDepthToSpace(const MoveContext& context) {
  const MoveOperand &x = context.input(0), &y = context.output(0);
  const int64_t block = context.node().attributes.Int("blocksize");
  const bool crd = context.node().attributes.Text("mode", "DCR") == "CRD";
  const int64_t channels = y.shape[1];
  const int64_t c = crd ? block * block : 1, b = crd ? 1 : channels;
  Move move;
  move.axes = {{x.shape[0], x.strides[0], y.strides[0]},
               {channels, c * x.strides[1], y.strides[1]},
               {x.shape[2], x.strides[2], block * y.strides[2]},
               {block, b * block * x.strides[1], y.strides[2]},
               {x.shape[3], x.strides[3], block * y.strides[3]},
               {block, b * x.strides[1], y.strides[3]}};
  return std::vector<Move>{std::move(move)};
}

/// The inverse of DepthToSpace.
Result<std::vector<Move>> PlanSpaceToDepth(const MoveContext& context) {
  const MoveOperand &x = context.input(0), &y = context.output(0);
  const int64_t block = context.node().attributes.Int("blocksize");
  const bool crd = context.node().attributes.Text("mode", "DCR") == "CRD";
  const int64_t channels = x.shape[1];
  const int64_t c = crd ? block * block : 1, b = crd ? 1 : channels;
  Move move;
  move.axes = {{x.shape[0], x.strides[0], y.strides[0]},
               {channels, x.strides[1], c * y.strides[1]},
               {y.shape[2], block * x.strides[2], y.strides[2]},
               {block, x.strides[2], b * block * y.strides[1]},
               {y.shape[3], block * x.strides[3], y.strides[3]},
               {block, x.strides[3], b * y.strides[1]}};
  return std::vector<Move>{std::move(move)};
}

/// Channels as a matrix of `groups` rows, transposed.
Result<std::vector<Move>> PlanChannelShuffle(const MoveContext& context) {
  const MoveOperand &x = context.input(0), &y = context.output(0);
  const int64_t groups = context.node().attributes.Int("groups", 1);
  const int64_t columns = x.shape[1] / groups;
  Move move;
  move.axes = {{columns, x.strides[1], groups * y.strides[1]},
               {groups, columns * x.strides[1], y.strides[1]}};
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    const size_t i = axis;
    if (axis != 1) move.axes.push_back({x.shape[axis], x.strides[i], y.strides[i]});
  }
  return std::vector<Move>{std::move(move)};
}

constexpr MovePlanner kPlanners[] = {
    {"ChannelShuffle", PlanChannelShuffle},
    {"DepthToSpace", PlanDepthToSpace, true},
    {"SpaceToDepth", PlanSpaceToDepth, true},
};

}  // namespace

std::span<const MovePlanner> ShufflePlanners() { return kPlanners; }

}  // namespace fettle::kernels
