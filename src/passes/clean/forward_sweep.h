// The forward sweep: inference and folding in one walk over the graph.
#pragma once

#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A node whose output shapes cannot be known before the data of `value` is.
struct Pending {
  ir::NodeId node = -1;
  ir::ValueId value = ir::kAbsent;
};

/// Walks the nodes in order. Where all inputs of a node have concrete shapes, stores the types and
/// shapes of its outputs. Where all inputs are known, makes the outputs constants; Shape and Size
/// of a concrete shape become constants in any case. Elsewhere the outputs lose their shapes, which
/// may come from other inputs than these. Returns the nodes that wait for data, by their new ids.
/// Fails as ops::Infer does, naming the node. O(size).
///
/// `trusts_shapes`: values that have a concrete shape keep it, and only the others are inferred.
/// For use behind passes, which compute the same values by other nodes.
Result<std::vector<Pending>> Sweep(ir::Graph& graph, bool trusts_shapes = false);

}  // namespace fettle::passes
