// Cuts a long graph of nodes that run sub-graphs into blocks that run one after the other.
// Preparing one block copies nothing of the others.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/graph_runner.h"

namespace fettle::runtime {

/// Consecutive nodes of a graph as a graph of their own.
struct Block {
  std::shared_ptr<const ir::Graph> graph;
  /// Values of the whole graph: one per input and output of `graph`, and the values that nothing
  /// behind the block reads.
  std::vector<ir::ValueId> inputs, outputs, done;
};

/// `graph` in blocks of at most kControlNodes nodes that run sub-graphs. Each stage of a block
/// copies the rest of the block, so a single block would take time quadratic in its nodes. Needs
/// topological order.
inline constexpr int kControlNodes = 8;
std::vector<Block> SplitAtControl(const ir::Graph& graph);

/// Runs a graph block by block.
class BlockRunner {
 public:
  /// `pinned[i]`: input i is known whenever a shape is asked for (StageCache).
  BlockRunner(std::shared_ptr<const ir::Graph> graph, const std::vector<bool>& pinned);
  ~BlockRunner();

  /// One tensor per graph input in, one per graph output out.
  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs, Context& context);

 private:
  std::vector<ir::ValueId> inputs_, outputs_;                         // of the whole graph
  IdVector<ir::ValueId, std::shared_ptr<const Constant>> constants_;  // that are outputs
  std::vector<Block> blocks_;
  std::vector<std::unique_ptr<StageCache>> stages_;  // of the blocks
};

}  // namespace fettle::runtime
