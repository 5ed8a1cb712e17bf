// ChannelShuffle, spelled as Reshape, Transpose, Reshape.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Reshape, Transpose and Reshape that together permute channels become ChannelShuffle{groups},
/// with a Reshape behind it where the result has another shape. Needs known shapes. True if
/// anything changed.
Result<bool> FindChannelShuffle(ir::Graph& graph);

}  // namespace fettle::passes
