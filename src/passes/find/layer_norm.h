// LayerNormalization and RMSNormalization, spelled out.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// (x - mean) / sqrt(variance + epsilon), with means over the last axes, becomes
/// LayerNormalization, and x / sqrt(mean square + epsilon) RMSNormalization; a constant scale, and
/// for the former a bias, behind it go along where they broadcast over it.
/// Without a scale the shape of x must be known. True if anything changed.
Result<bool> FindLayerNorm(ir::Graph& graph);

}  // namespace fettle::passes
