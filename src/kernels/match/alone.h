// A node of a group as a group of its own.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace fettle::kernels {

struct AloneNode {
  ir::Graph graph;
  std::vector<ir::ValueId> inputs;  // of the group, one per graph.inputs
};

/// A copy of `node` with its operands and its first output. Constants stay constants; with `opened`
/// those of more than one element become inputs.
AloneNode Alone(const ir::Graph& group, const ir::Node& node, bool opened = false);

}  // namespace fettle::kernels
