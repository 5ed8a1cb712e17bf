#include "ops/walk.h"

namespace fettle::ops {

Dims BroadcastStrides(const HostView& view, const Shape& shape) {
  Dims strides(shape.rank(), 0);
  const int lead = shape.rank() - view.shape.rank();
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    if (view.shape[axis] != 1) strides[axis + lead] = view.strides[axis];
  }
  return strides;
}

Dims RowStrides(const Dims& strides, const AxisMask& mask) {
  Dims rows = strides;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (mask[i]) rows[i] = 0;
  }
  return rows;
}

std::vector<int64_t> RowOffsets(const HostView& view, const AxisMask& mask) {
  Dims extent, strides;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (!mask[i]) continue;
    extent.push_back(view.shape[static_cast<int>(i)]);
    strides.push_back(view.strides[i]);
  }
  const Shape shape(extent);
  std::vector<int64_t> offsets(shape.elements());
  Walker walk(shape, {strides}, 0);
  for (int64_t& offset : offsets) {
    offset = walk[0];
    walk.Next();
  }
  return offsets;
}

Walker::Walker(const Shape& shape, std::vector<Dims> strides, int64_t begin)
    : extent_(shape.dims()),
      strides_(std::move(strides)),
      coordinate_(extent_.size()),
      offsets_(strides_.size(), 0) {
  if (shape.elements() == 0) return;
  Unravel(begin, shape, coordinate_);
  for (size_t i = 0; i < strides_.size(); ++i) {
    for (size_t axis = 0; axis < extent_.size(); ++axis)
      offsets_[i] += coordinate_[axis] * strides_[i][axis];
  }
}

}  // namespace fettle::ops
