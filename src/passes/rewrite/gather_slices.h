// Gather of an evenly spaced range.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Gather with constant indices in even steps becomes Slice; with one scalar index on the outermost
/// axis over 1, Slice and Reshape, which are views. Needs known shapes, as Slice does not refuse
/// indices that are out of range. True if anything changed.
Result<bool> GatherToSlice(ir::Graph& graph);

}  // namespace fettle::passes
