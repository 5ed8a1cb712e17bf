// Multiply-adds of nodes and graphs whose values have concrete shapes.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace fettle::ops {

/// What the operator counts; 0 where none are worth counting.
int64_t MacsOf(const ir::Graph& graph, const ir::Node& node);
/// Of all nodes.
int64_t MacsOf(const ir::Graph& graph);

}  // namespace fettle::ops
