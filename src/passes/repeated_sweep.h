// One graph, swept in place for one set of input shapes after the other.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/extent_rule.h"

namespace fettle::passes {

/// Does the forward sweep's work (clean/forward_sweep.h) without changing the set of nodes: a node
/// that folded for the first shapes folds for all later ones, and any other stays a node. So graphs
/// of several shapes differ only in extents and in constants that follow from extents. Belongs to
/// one thread.
class RepeatedSweep {
 public:
  /// A copy of `graph`, whose nodes are in order.
  explicit RepeatedSweep(const ir::Graph& graph);

  /// Sweeps for inputs of these types and shapes. kUnsupported where a node waits for data or runs
  /// sub-graphs, or where, after the first sweep, the result would be a graph of other nodes. Other
  /// failures are those of inference. graph() is valid after a success only.
  Status Run(const std::vector<std::pair<DType, Shape>>& inputs);

  /// All values have types and concrete shapes; ids are those of the graph that was copied. Nodes
  /// that were folded are still there.
  const ir::Graph& graph() const { return graph_; }
  /// The nodes that are left: not folded, and needed for the outputs.
  const std::vector<ir::NodeId>& live() const { return live_; }
  /// The constants that follow from extents.
  const std::vector<ir::ValueId>& following() const { return following_; }
  /// graph() without dead nodes; ids change, the order of nodes does not.
  Result<ir::Graph> Live() const;

 private:
  /// Makes the outputs of node `id` constants where that is allowed; says whether they are.
  Result<bool> Fold(ir::NodeId id);
  Status Visit(ir::NodeId id);
  /// Of a node that folded the first time.
  Status FoldAgain(ir::NodeId id);
  Status InferNode(ir::NodeId id);
  /// By the node's rule; false: it has to be inferred.
  bool TakeExtents(ir::NodeId id);
  void FindLive();
  void FindFed();

  ir::Graph graph_;
  bool has_run_ = false;
  bool is_good_ = false;     // the last run succeeded
  bool visits_all_ = false;  // else nodes of which an input has changed since the last run
  std::vector<char> folded_, follows_, changed_;  // by node, by value, by value: whether it does
  std::vector<ir::ValueId> following_;
  std::vector<ir::NodeId> live_;
  std::vector<ir::NodeId> fed_;  // those that inputs of the graph lead to: no others change
  struct Rule {
    bool was_sought = false;
    std::unique_ptr<ops::ExtentRule> rule;  // null: there is none
  };
  std::vector<Rule> rules_;           // by node
  std::vector<const Shape*> inputs_;  // of one node
  Shape output_;
};

}  // namespace fettle::passes
