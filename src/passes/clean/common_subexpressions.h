// Nodes that compute the same thing twice.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Merges nodes with equal operator, attributes and operands, and small equal constants. Leaves
/// random and control operators alone, and DequantizeLinear, because each reader has its own. True
/// if anything changed. O(size).
Result<bool> MergeCommonSubexpressions(ir::Graph& graph);

}  // namespace fettle::passes
