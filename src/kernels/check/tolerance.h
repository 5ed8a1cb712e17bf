// How far a kernel for a group may be from the group's oracle.
#pragma once

#include "ir/graph.h"
#include "tensor/compare.h"

namespace fettle::kernels {

/// Multiply-adds of a node; 0 where they are not counted.
int64_t Macs(const ir::Graph& graph, const ir::Node& node);

/// What an output that is stored as its own type may differ from the oracle's, whose largest finite
/// magnitude is `largest`: the type's rounding once per node, and sums as long as the longest of
/// the group. `scale` is the magnitude of the data: sums of random signs stay near the square root
/// of their length times that.
Tolerance GroupTolerance(const ir::Graph& group, ir::ValueId output, double largest,
                         double scale = 1);

}  // namespace fettle::kernels
