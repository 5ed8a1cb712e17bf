// Clamps that a quantiser repeats.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Drops a Relu or a Clip in front of a QuantizeLinear of bytes that saturates where it clamps.
/// True if anything changed.
Result<bool> DropImpliedClamps(ir::Graph& graph);

}  // namespace fettle::passes
