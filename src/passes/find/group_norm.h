// GroupNormalization, spelled out.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Reshape to [n, groups, rest], InstanceNormalization with one scale and one bias for all groups,
/// and Reshape back become GroupNormalization, as exporters spell it; scales and shifts per channel
/// behind it go along. Needs known shapes; what is read or an output in between stays. The operand
/// then keeps its layout. True if anything changed.
Result<bool> FindGroupNorm(ir::Graph& graph);

}  // namespace fettle::passes
