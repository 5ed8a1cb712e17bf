// GatherND and ScatterND whose constant indices name a box of their data.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Exporters write `x[b, i]` and `x[:, 1:] = u` of a program as GatherND and ScatterND of index
/// tuples that they count out. Where constant tuples name a box of the data's outermost axes, in
/// order:
///   - GatherND becomes Slice and Reshape, and Expand where it repeats what it took;
///   - ScatterND without a reduction becomes Concat of the slices before the box, of the updates
///     and of the slices behind it, or a Reshape of the updates where the box is all of the data.
///     Where a Transpose alone reads the result, the Concat stands behind it.
/// Other GatherNDs of constant tuples behind a Transpose that brought their axes to the front
/// become a Gather before it; those of tuples of one index a Gather. Needs known shapes. True if
/// anything changed.
Result<bool> IndexBoxes(ir::Graph& graph);

}  // namespace fettle::passes
