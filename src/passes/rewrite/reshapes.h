// Reshapes of reshapes.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Makes one Reshape of Reshape, Flatten, Squeeze and Unsqueeze in a row, where the last shape is
/// known or does not refer to the one before. True if anything changed.
Result<bool> MergeReshapes(ir::Graph& graph);

}  // namespace fettle::passes
