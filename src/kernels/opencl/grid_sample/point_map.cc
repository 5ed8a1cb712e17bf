#include "kernels/opencl/grid_sample/point_map.h"

#include "ops/op.h"
#include "ops/resize/op.h"

namespace fettle::kernels {
namespace {

/// x = (g + 1) / 2 * (size - 1), or ((g + 1) * size - 1) / 2.
void MapAxis(bool align_corners, int64_t extent, double& scale, double& shift) {
  const auto size = static_cast<double>(extent);
  scale = (align_corners ? size - 1 : size) / 2;
  shift = (size - 1) / 2;
}

}  // namespace

Result<PointMap> ReadPointMap(const ir::Graph& group) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "GridSample"_op)
    return Unsupported("computes GridSample only");
  const ir::Node& node = group.nodes()[0];
  if (group.inputs.size() != 2 || group.inputs[0] != node.inputs[0] ||
      group.inputs[1] != node.inputs[1]) {
    return Unsupported("a constant picture or grid");
  }
  for (ir::ValueId id : group.inputs) {
    if (group.value(id).dtype != DType::kF32) return Unsupported("types other than f32");
  }
  const Shape& x = *group.value(node.inputs[0]).shape;
  if (x.rank() != 4 || x.elements() == 0 || x.Count(2, 4) > INT32_MAX)
    return Unsupported("images of two axes only, below 2^31 pixels");
  ASSIGN_OR_RETURN(const ops::GridSampleAttributes grid, ops::ReadGridSample(node));
  if (grid.mode == ops::ResizeMode::kCubic) return Unsupported("cubic sampling");
  if (grid.padding == ops::GridSampleAttributes::Padding::kReflection)
    return Unsupported("reflected borders");
  PointMap map{.height = x[2], .width = x[3]};
  map.nearest = grid.mode == ops::ResizeMode::kNearest;
  map.border = grid.padding == ops::GridSampleAttributes::Padding::kBorder;
  MapAxis(grid.align_corners, x[3], map.scale_x, map.shift_x);
  MapAxis(grid.align_corners, x[2], map.scale_y, map.shift_y);
  return map;
}

}  // namespace fettle::kernels
