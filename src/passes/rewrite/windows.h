// Slices between reshapes.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Reshape, Slice of the outermost axis over 1, and Reshape together take a window of elements.
/// Where that is a range of one axis of the first operand, a single Slice takes it, in the
/// operand's own shape: layouts stay what they are. Needs known shapes. True if anything changed.
Result<bool> MergeWindows(ir::Graph& graph);

}  // namespace fettle::passes
