// Operands that broadcast to an output in any layout.
#pragma once

#include <vector>

#include "base/status.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// How far the elements of an operand (`shape` in `own`) lie apart along the physical dimensions of
/// the output (`full` in `layout`): 0 where it repeats. Fails with kUnsupported where the operand
/// is blocked in another way, or lacks lanes that the output pads.
Result<std::vector<int64_t>> BroadcastStrides(const Shape& full, const Layout& layout,
                                              const Shape& shape, const Layout& own);

/// Whether an operand of `shape` may lie in `layout` beside an output of shape `full`: it has its
/// rank and the axes that are blocked.
bool SharesLayout(const Shape& shape, const Shape& full, const Layout& layout);

}  // namespace fettle::kernels
