// ConvInteger that kernels of floats compute sooner than kernels of bytes.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Turns a ConvInteger of at most 258 terms, whose sums are exact in floats, into a convolution of
/// floats, where it is depthwise with computed weights, or has groups of up to two channels and no
/// Cast of its sums to floats. Shapes must be known.
Result<bool> SpellComputedFilters(ir::Graph& graph);

}  // namespace fettle::passes
