// The producer and the readers of each value of a graph, found once for all code that lists groups.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace fettle::passes {

/// Made in O(size of the graph), which must outlive it and not change.
class GraphIndex {
 public:
  explicit GraphIndex(const ir::Graph& graph);

  const ir::Graph& graph() const { return graph_; }

  /// The node that computes a value; -1 for kAbsent and where no node does.
  ir::NodeId Maker(ir::ValueId id) const { return id == ir::kAbsent ? -1 : makers_[id]; }
  const std::vector<ir::NodeId>& Readers(ir::ValueId id) const { return readers_[id]; }
  bool IsOutput(ir::ValueId id) const { return is_output_[id]; }
  /// Whether several nodes read the value, or it is a graph output.
  bool IsShared(ir::ValueId id) const { return Readers(id).size() > 1 || IsOutput(id); }

  /// The first output of a node that has no other; else kAbsent.
  ir::ValueId Result(ir::NodeId id) const;
  /// The only node that reads the result of `id`, or -1.
  ir::NodeId Next(ir::NodeId id) const;

 private:
  const ir::Graph& graph_;
  IdVector<ir::ValueId, ir::NodeId> makers_;
  IdVector<ir::ValueId, std::vector<ir::NodeId>> readers_;
  IdVector<ir::ValueId, bool> is_output_;
};

/// Element-wise and deterministic, with one output.
bool IsElementwise(const ir::Node& node);

}  // namespace fettle::passes
