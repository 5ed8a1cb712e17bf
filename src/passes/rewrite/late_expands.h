// Expand before operators that broadcast.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// An operator that broadcasts reads what Expand repeats, not the repetition, where its other
/// operands have the extents of its result: exporters write expand_as(x) before a product with x.
/// Needs shapes. True if anything changed.
Result<bool> DropExpandsBeforeBroadcasts(ir::Graph& graph);

}  // namespace fettle::passes
