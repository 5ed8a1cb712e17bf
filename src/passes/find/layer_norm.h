// LayerNormalization and RMSNormalization, spelled out.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// (x - mean) / sqrt(variance + epsilon), with means over the last axes, becomes
/// LayerNormalization; x / sqrt(mean square + epsilon) becomes RMSNormalization. A constant scale
/// behind it, and for the former a bias, are included where they broadcast over it. Without a scale
/// the shape of x must be known. True if anything changed.
Result<bool> FindLayerNorm(ir::Graph& graph);

}  // namespace fettle::passes
