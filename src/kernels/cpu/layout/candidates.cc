#include "kernels/cpu/layout/candidates.h"

namespace fettle::kernels {

bool FillsBlocks(const Shape& shape, const Layout& layout) {
  return PhysicalElements(shape, layout) <= 2 * shape.elements();
}

std::vector<Layout> BlockedLayouts(const Shape& shape) {
  std::vector<Layout> layouts;
  for (Layout& layout : LayoutsOfRank(shape.rank())) {
    if (!layout.blocks.empty() && FillsBlocks(shape, layout)) layouts.push_back(std::move(layout));
  }
  return layouts;
}

}  // namespace fettle::kernels
