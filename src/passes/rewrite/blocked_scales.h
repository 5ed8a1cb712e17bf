// Scales of blocks that share an axis.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// For DequantizeLinear and QuantizeLinear of a computed tensor with a scale for each block of an
/// axis: blocks become an axis of their own, [outer, blocks, block, inner], along which the scales
/// are broadcast. Kernels of element-wise operators take that. Left alone where the last block is
/// shorter.
Result<bool> SplitBlockedScales(ir::Graph& graph);

}  // namespace fettle::passes
