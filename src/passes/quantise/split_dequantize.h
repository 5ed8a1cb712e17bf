// One DequantizeLinear per reader.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Gives every reader of a DequantizeLinear a node of its own, so that the groups DQ-op-Q cover the
/// graph without overlap. Operands are shared. True if anything changed.
Result<bool> SplitDequantize(ir::Graph& graph);

}  // namespace fettle::passes
