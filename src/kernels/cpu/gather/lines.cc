#include "kernels/cpu/gather/lines.h"

namespace fettle::kernels {

ElementLines::ElementLines(const Shape& data, const Shape& indices, int axis) {
  const Dims strides = RowMajorStrides(data);
  extent_ = data[axis];
  step_ = strides[axis];
  // Axes of the indices from the outermost one, their strides in the data, and whether the axis
  // before is one with them.
  bool joins = false;
  for (int i = 0; i < indices.rank(); ++i) {
    if (indices[i] == 1 && (i == axis || data[i] == 1)) {
      joins = joins && i != axis;
      continue;
    }
    const int64_t stride = i == axis ? 0 : strides[i];
    if (joins && i != axis && data[i] == indices[i]) {
      extents_.back() *= indices[i];
      strides_.back() = stride;
    } else {
      extents_.push_back(indices[i]);
      strides_.push_back(stride);
    }
    joins = i != axis;
  }
  if (extents_.empty()) return;
  length_ = extents_.back();
  along_ = strides_.back();
  extents_.pop_back();
  strides_.pop_back();
  for (int64_t extent : extents_) lines_ *= extent;
  parts_ = (length_ + kPart - 1) / kPart;
}

}  // namespace fettle::kernels
