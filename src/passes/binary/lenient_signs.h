// Signs whose zeros count as ones, where that was asked for.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Puts Where(x >= 0, 1, -1) in the place of each Sign(x), of f32, that keeps a product with
/// two-valued weights from having two-valued inputs: no longer what the model says where x is 0,
/// for whatever reads it. Comparisons get the attribute `lenient`, which ListBinary tells of. Call
/// it before other passes. True if anything changed.
Result<bool> MakeSignsLenient(ir::Graph& graph);

}  // namespace fettle::passes
