// Sum of two operands.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Sum of two operands becomes Add, so that residual connections look alike. True if anything
/// changed.
Result<bool> SumToAdd(ir::Graph& graph);

}  // namespace fettle::passes
