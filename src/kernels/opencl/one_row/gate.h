// The end of a gated pair of products: one of them, through an activation, times the other.
#pragma once

#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::kernels {

struct GatedPair {
  int64_t gate = 0;  // GATE of one_row/matrices.clh; 0: the group has no such end
  ir::ValueId gated = ir::kAbsent, factor = ir::kAbsent;  // the products

  bool has_gate() const { return gate != 0; }
};

/// Of a group that may end in an activation and a Mul. kUnsupported for other activations.
Result<GatedPair> ReadGatedPair(const ir::Graph& group);

/// The products of a group, nodes of one operator, that of the gate first. kUnsupported where there
/// are other nodes than these, `before` them and the pair's end, or not two or three, or results
/// that are none of theirs.
Result<std::vector<ir::NodeId>> ReadSiblings(const ir::Graph& group, ir::OpRef op, size_t before,
                                             const GatedPair& pair);

}  // namespace fettle::kernels
