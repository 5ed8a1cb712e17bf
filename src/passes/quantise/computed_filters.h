// ConvInteger whose sums kernels of floats compute sooner than those of bytes.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A ConvInteger of at most 258 terms, whose sums floats hold, becomes a convolution of floats:
/// one that is depthwise with computed weights, or of groups of up to two channels whose sums
/// nothing casts to floats. Shapes must be known.
Result<bool> SpellComputedFilters(ir::Graph& graph);

}  // namespace fettle::passes
