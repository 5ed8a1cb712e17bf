// Operators that kernels compute in steps, or of some element types in steps of others.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Cast between half precision and numbers that fp32 does not hold goes through f32; Pow of
/// integers and doubles by 2 or 3 becomes products, Clip of integers by less than two bounds Max,
/// Min or Identity, a reduction over axes with others between them one for each run of neighbours
/// where little lies in the last run, and ReduceLogSumExp its maximum, exponentials and their sum.
/// Shapes must be known for reductions.
Result<bool> SpellTyped(ir::Graph& graph);

}  // namespace fettle::passes
