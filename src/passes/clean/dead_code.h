// Dead code: nodes that no graph output needs.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Removes nodes without a needed output and makes unneeded outputs of the others ir::kAbsent,
/// without trailing ones where the operator has a fixed number of outputs. True if anything
/// changed. O(size).
Result<bool> RemoveDeadCode(ir::Graph& graph);

}  // namespace fettle::passes
