// GroupNormalization, spelled out.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Reshape to [n, groups, rest], InstanceNormalization with one scale and one bias for all groups,
/// and Reshape back become GroupNormalization, as exporters write it; scales and shifts per channel
/// behind it are included. Needs known shapes. Values between that are read elsewhere or are
/// outputs stay. The operand then keeps its layout. True if anything changed.
Result<bool> FindGroupNorm(ir::Graph& graph);

}  // namespace fettle::passes
