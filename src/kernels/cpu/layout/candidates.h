// Which blocked layouts a kernel that works in any layout lists.
#pragma once

#include <vector>

#include "tensor/layout.h"

namespace fettle::kernels {

/// True where at most every second lane of `shape` is padding: beyond that a block wastes more
/// memory traffic than any kernel wins back.
bool FillsBlocks(const Shape& shape, const Layout& layout);

/// The blocked layouts of the layout table that `shape` fills.
std::vector<Layout> BlockedLayouts(const Shape& shape);

}  // namespace fettle::kernels
