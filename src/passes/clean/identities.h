// Nodes that give back their input.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Removes nodes whose output equals one of their inputs, exactly: Identity, Cast to the type that
/// the input has, Transpose that moves no axis, shape operators that change no shape, Concat, Sum,
/// Max, Min and Mean of one operand, Pad by nothing, Slice of everything, Resize to the same size,
/// Mul and Div by 1, Add and Sub of 0 where the sign of zero survives, Clip without bounds. A graph
/// output that would lose its name keeps the node. True if anything changed.
Result<bool> RemoveIdentities(ir::Graph& graph);

}  // namespace fettle::passes
