#include "kernels/move/pad_boxes.h"

#include "kernels/move/index_runs.h"

namespace fettle::kernels {
namespace {

int64_t Padded(const Shape& shape, const Layout& layout, int axis) {
  const int64_t block = layout.BlockOf(axis);
  return (shape[axis] + block - 1) / block * block;
}

/// Indices [begin, end) of an axis as loops over offsets.
std::vector<LoopNest> AxisLoops(const Layout& layout, const OffsetMap& map, int axis, int64_t begin,
                                int64_t end) {
  if (layout.BlockOf(axis) == 1) {
    const int64_t stride = map.AxisOffset(axis, 1);
    return {{0, begin * stride, {{end - begin, 0, stride}}}};
  }
  std::vector<OffsetPair> table;
  for (int64_t i = begin; i < end; ++i) table.push_back({0, map.AxisOffset(axis, i)});
  return FindLoops(table);
}

/// Adds the axes from `axis` on to `box`: those before `padded` inside the shape, `padded` behind
/// it, the others whole, so that lanes which two axes pad are named once.
void Descend(const Shape& shape, const Layout& layout, const OffsetMap& map, int padded, int axis,
             const PadBox& box, std::vector<PadBox>& boxes) {
  if (axis == shape.rank()) {
    boxes.push_back(box);
    return;
  }
  const int64_t begin = axis == padded ? shape[axis] : 0;
  const int64_t end = axis < padded ? shape[axis] : Padded(shape, layout, axis);
  for (const LoopNest& loops : AxisLoops(layout, map, axis, begin, end)) {
    PadBox next = box;
    next.offset += loops.dst;
    next.axes.insert(next.axes.end(), loops.axes.begin(), loops.axes.end());
    Descend(shape, layout, map, padded, axis + 1, next, boxes);
  }
}

}  // namespace

std::vector<PadBox> FindPadLanes(const Shape& shape, const Layout& layout) {
  std::vector<PadBox> boxes;
  if (!HasPadLanes(shape, layout)) return boxes;
  const OffsetMap map(shape, layout);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (Padded(shape, layout, axis) != shape[axis]) Descend(shape, layout, map, axis, 0, {}, boxes);
  }
  return boxes;
}

}  // namespace fettle::kernels
