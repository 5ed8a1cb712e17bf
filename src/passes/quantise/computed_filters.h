// ConvInteger of which kernels of bytes do not compute the sums.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A ConvInteger with computed weights, or with groups of up to two channels whose sums nothing
/// casts to floats, becomes convolutions of floats, whose sums are exact: one, or two of the
/// input's multiples of 16 and of the rest where its sums have over 258 terms. Shapes must be
/// known; sums of over 4112 terms are left as they are.
Result<bool> SpellComputedFilters(ir::Graph& graph);

}  // namespace fettle::passes
