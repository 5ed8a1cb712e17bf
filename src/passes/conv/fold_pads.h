// Pad in front of a window.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Moves a Pad with zeros of spatial axes into the pads of the Conv, ConvInteger (whose zero point
/// must be 0) or AveragePool (which then counts them) that reads it, where that is exact. True if
/// anything changed.
Result<bool> FoldPads(ir::Graph& graph);

}  // namespace fettle::passes
