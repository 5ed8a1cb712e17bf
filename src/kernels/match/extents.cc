#include "kernels/match/extents.h"

namespace fettle::kernels {

Result<RowExtents> SplitRows(const Shape& shape, const Layout& layout,
                             const std::vector<bool>& mask) {
  if (!layout.IsDense()) return Unsupported("pitched layouts");
  RowExtents extents;
  bool in_row = false, behind_row = false;
  const int rank = shape.rank(), dims = rank + static_cast<int>(layout.blocks.size());
  for (int i = 0; i < dims; ++i) {
    const int axis = i < rank ? layout.AxisAt(i, rank) : layout.blocks[i - rank].axis;
    const int64_t block = layout.BlockOf(axis);
    const int64_t extent =
        i < rank ? (shape[axis] + block - 1) / block : layout.blocks[i - rank].size;
    if (extent == 1) continue;
    if (mask[axis]) {
      if (behind_row) return Unsupported("the reduced axes are not neighbours in memory");
      if (shape[axis] % layout.BlockOf(axis) != 0)
        return Unsupported("pad lanes among the elements of a row");
      in_row = true;
      extents.row *= extent;
    } else {
      behind_row = in_row;
      (in_row ? extents.inner : extents.outer) *= extent;
    }
  }
  return extents;
}

Result<ImageExtents> SplitImages(const Shape& shape, const Layout& layout) {
  if (!layout.IsDense()) return Unsupported("pitched layouts");
  if (shape.rank() < 3) return Unsupported("no spatial axes");
  const PhysicalDims dims = ToPhysical(shape, layout);
  ImageExtents extents;
  int next = 2;  // spatial axis
  for (size_t i = 0; i < dims.extent.size(); ++i) {
    if (dims.axis[i] < 2) {
      if (next == 2) {
        extents.outer *= dims.extent[i];
      } else if (next == shape.rank()) {
        extents.inner *= dims.extent[i];
      } else if (dims.extent[i] != 1) {
        return Unsupported("channels between the spatial axes");
      }
    } else if (dims.axis[i] != next++ || layout.BlockOf(dims.axis[i]) != 1) {
      return Unsupported("spatial axes blocked or out of order");
    }
  }
  return extents;
}

}  // namespace fettle::kernels
