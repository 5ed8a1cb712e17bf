// If with a known condition.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Puts the taken branch of every If with a constant condition in its place, its outputs behind
/// Identity nodes. Values of the branch keep their names, which may repeat names of the graph. True
/// if anything changed.
Result<bool> InlineConstantIf(ir::Graph& graph);

}  // namespace fettle::passes
