// ConvInteger of which kernels of bytes do not compute the sums.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A ConvInteger with computed weights, or with groups of up to two channels whose sums nothing
/// casts to floats, becomes convolutions of floats, whose sums are exact. Sums of over 258 terms
/// are cut into those of some channels each; where there are groups, or that many terms a channel,
/// into those of the input's multiples of 16 and of the rest, and sums of over 4112 terms are left
/// as they are. Shapes must be known.
Result<bool> SpellComputedFilters(ir::Graph& graph);

}  // namespace fettle::passes
