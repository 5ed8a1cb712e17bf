// Reductions over axes: which axes, and the shape that is left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/walk.h"

namespace fettle::ops {

/// The axes that a Reduce* node reduces, given the values of its `axes` operand (empty where it is
/// absent): all of them for an empty list, none with noop_with_empty_axes. Fails with
/// kInvalidModel on axes out of range.
Result<AxisMask> ReduceAxes(const ir::Node& node, int rank, const std::vector<int64_t>& axes);

/// `shape` without its masked axes, or with 1 in their place.
Shape ReducedShape(const Shape& shape, const AxisMask& mask, bool keepdims);

}  // namespace fettle::ops
