// Transposes that meet.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Merges a Transpose with the one that it reads, also through element-wise operators on one value
/// where the two cancel; makes those that only move axes of extent 1 a Reshape. True if anything
/// changed.
Result<bool> MergeTransposes(ir::Graph& graph);

}  // namespace fettle::passes
