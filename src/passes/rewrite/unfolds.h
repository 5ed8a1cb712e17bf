// Unfolded pictures: Gathers and Col2Im that only put elements in another order.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Gather with constant indices of two axes and more that count out a range of the data's axis,
/// each element once, in a regular order, becomes Reshape and Transpose, behind a Slice where the
/// range is a part: what torch exports for unfold where windows do not overlap. Col2Im of such
/// windows, which fill the picture, becomes Reshape, Transpose and Reshape. Both need known shapes.
/// True if anything changed.
Result<bool> UnfoldsToTransposes(ir::Graph& graph);

/// A Transpose that, together with other Transposes and Reshapes before it, puts elements back in
/// the order of the value they start from becomes a Reshape of that value. True if anything
/// changed.
Result<bool> CancelMoves(ir::Graph& graph);

}  // namespace fettle::passes
