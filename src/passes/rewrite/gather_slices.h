// Gather of an evenly spaced range, and of single steps of an axis.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Gather with constant indices in even steps becomes Slice; with one index on the outermost axis
/// over 1, or on an axis of one element, Slice and Reshape, which are views. Needs known shapes, as
/// Slice does not refuse indices that are out of range. True if anything changed.
Result<bool> GatherToSlice(ir::Graph& graph);

/// Many Gathers that each take one constant scalar index of the same axis of a value, as the steps
/// of an unrolled recurrence do, read that value transposed, with the axis in front: one copy in
/// long runs in place of as many that each touch all of its cache lines. Needs known shapes; few
/// Gathers, for the extent of the axis, stay. True if anything changed.
Result<bool> TransposeBeforeSelects(ir::Graph& graph);

}  // namespace fettle::passes
