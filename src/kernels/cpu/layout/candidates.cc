#include "kernels/cpu/layout/candidates.h"

namespace fettle::kernels {

bool FillsBlocks(const Shape& shape, const Layout& layout) {
  return PhysicalElements(shape, layout) <= 2 * shape.elements();
}

std::vector<Layout> BlockedLayouts(const Shape& shape) {
  std::vector<Layout> layouts;
  for (const NamedLayout& row : LayoutTable()) {
    if (row.rank == shape.rank() && row.layout.image_y_dims == 0 && !row.layout.blocks.empty() &&
        FillsBlocks(shape, row.layout))
      layouts.push_back(row.layout);
  }
  return layouts;
}

}  // namespace fettle::kernels
