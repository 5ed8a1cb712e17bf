#include "kernels/cpu/layout/broadcast.h"

#include <algorithm>

namespace fettle::kernels {

Result<std::vector<int64_t>> BroadcastStrides(const Shape& full, const Layout& layout,
                                              const Shape& shape, const Layout& own) {
  if (shape.rank() > full.rank()) return Unsupported("an operand of more axes than the output");
  if (!own.blocks.empty() && (own != layout || shape.rank() != full.rank()))
    return Unsupported("operands blocked in another way than the output");
  const std::optional<Dims> by_axis = AxisStrides(shape, own);
  const PhysicalDims dims = ToPhysical(full, layout), own_dims = ToPhysical(shape, own);
  std::vector<int64_t> strides;
  for (size_t i = 0; i < dims.extent.size(); ++i) {
    const int axis = dims.axis[i], own_axis = axis - (full.rank() - shape.rank());
    if (own_axis < 0 || shape[own_axis] == 1) {
      strides.push_back(0);
    } else if (shape[own_axis] != full[axis]) {
      return Unsupported("operands do not broadcast");
    } else if (!by_axis) {
      strides.push_back(own_dims.stride[i]);
    } else if (full[axis] % layout.BlockOf(axis) != 0) {
      return Unsupported("an operand without the pad lanes of the output");
    } else {
      strides.push_back((*by_axis)[own_axis] * dims.unit[i]);
    }
  }
  return strides;
}

bool SharesLayout(const Shape& shape, const Shape& full, const Layout& layout) {
  return shape.rank() == full.rank() &&
         std::all_of(layout.blocks.begin(), layout.blocks.end(), [&](const Layout::Block& block) {
           return shape[block.axis] == full[block.axis];
         });
}

}  // namespace fettle::kernels
