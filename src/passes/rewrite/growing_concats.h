// Concat nodes that begin as another one does.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A Concat whose first operands are all that an earlier Concat joins along the same axis takes
/// that one's output in their place, of several the longest: DenseNet's blocks join up to 24
/// features anew at each layer, which is as many launches on an accelerator. True if anything
/// changed.
Result<bool> ShareGrowingConcats(ir::Graph& graph);

}  // namespace fettle::passes
