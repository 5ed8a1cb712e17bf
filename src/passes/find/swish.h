// Swish (SiLU), spelled out.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// x * Sigmoid(a * x) becomes Swish{alpha=a}. True if anything changed.
Result<bool> FindSwish(ir::Graph& graph);

}  // namespace fettle::passes
