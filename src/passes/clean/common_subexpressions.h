// Nodes that compute the same thing twice.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Merges nodes with equal operator, attributes and operands, and small equal constants. Left
/// alone: random and control operators, and DequantizeLinear, which every consumer has to itself.
/// True if anything changed. O(size).
Result<bool> MergeCommonSubexpressions(ir::Graph& graph);

}  // namespace fettle::passes
