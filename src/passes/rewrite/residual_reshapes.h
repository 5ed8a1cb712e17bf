// Reshapes between a matrix product and a residual sum.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A sum of a reshaped matrix product and a computed tensor of that shape becomes the sum of the
/// product and the reshaped tensor, reshaped: the product can end in it, and a Reshape is a view.
/// Needs known shapes. True if anything changed.
Result<bool> MoveReshapesBehindSums(ir::Graph& graph);

}  // namespace fettle::passes
