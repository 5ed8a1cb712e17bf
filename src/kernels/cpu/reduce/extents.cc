#include "kernels/cpu/reduce/extents.h"

namespace fettle::kernels {

Result<RowExtents> SplitRows(const Shape& shape, const Layout& layout,
                             const std::vector<bool>& mask) {
  if (!layout.blocks.empty() || !layout.IsDense()) return Unsupported("blocked or pitched layouts");
  RowExtents extents;
  bool in_row = false, behind_row = false;
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = layout.AxisAt(i, shape.rank());
    if (shape[axis] == 1) continue;
    if (mask[static_cast<size_t>(axis)]) {
      if (behind_row) return Unsupported("the reduced axes are not neighbours in memory");
      in_row = true;
      extents.row *= shape[axis];
    } else {
      behind_row = in_row;
      (in_row ? extents.inner : extents.outer) *= shape[axis];
    }
  }
  return extents;
}

}  // namespace fettle::kernels
