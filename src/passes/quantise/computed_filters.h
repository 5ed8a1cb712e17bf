// ConvInteger whose weights are computed.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A ConvInteger with computed weights becomes convolutions of floats, whose sums are exact: one,
/// or two of the input's multiples of 16 and of the rest where its sums have over 258 terms. Shapes
/// must be known; sums of over 4112 terms are left as they are.
Result<bool> SpellComputedFilters(ir::Graph& graph);

}  // namespace fettle::passes
