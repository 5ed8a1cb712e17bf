// Groups: the connected sets of nodes that one kernel may compute.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace fettle::passes {

/// Nodes that may be computed as one. Only members read the values between them, so no path leaves
/// the group and comes back.
struct Group {
  /// In topological order, which is that of the ids.
  std::vector<ir::NodeId> nodes;
  /// The values that are read from outside, where there are several nodes.
  std::vector<ir::ValueId> outputs;
  /// The row of the pattern table that listed it: "node", "epilogue", "chain", "quantised",
  /// "residual", "joined", "gathered", "separable", "bits", "normed", "channels", "siblings",
  /// "gated", "attention", "turned", "moves", "views".
  std::string_view pattern = "node";
};

inline constexpr int kMaxGroupNodes = 16;
/// An element-wise operator of more operands stays alone.
inline constexpr size_t kMaxGroupOperands = 16;

/// All groups of `graph`, overlapping ones included. Changes nothing. O(size), times
/// kMaxGroupNodes.
///   node       every node alone
///   epilogue   convolution, matrix product, pooling, resizing, normalisation, reduction, softmax,
///              then a chain of element-wise operators: every prefix of it
///   chain      element-wise operators from any start: every prefix
///   quantised  DequantizeLinear of operands, an operator, element-wise operators, QuantizeLinear;
///              the last two may be missing
///   residual   such an operator with an epilogue, whose bytes DequantizeLinear, Add with another
///              DequantizeLinear, element-wise operators and QuantizeLinear follow
///   joined     TableLookup of operands, Concat, ChannelShuffle; the first or the last may be
///              missing
///   gathered   Gather of an operand, a matrix product
///   separable  depthwise convolution, element-wise operators, 1x1 convolution, then its epilogue
///   bits       a product of bits, its epilogue, then PackBits; a chain, then PackBits; PackBits
///              with shifts by constants before it (binary/bit_groups.h)
///   normed     a matrix product with its epilogue, or a chain, then views, then
///              LayerNormalization or RMSNormalization (normed_groups.h)
///   channels   such a normalisation behind a Transpose, before one, or both
///              (channel_norm_groups.h)
///   siblings   products in blocks of one value, with the RMSNormalization before them, or of one
///              row by constants
///              (sibling_groups.h)
///   gated      two siblings, one through an element-wise operator times the other
///   attention  Softmax between two products, alone and with what moves the elements of their
///              operands and result (attention_groups.h); these may have more than kMaxGroupNodes
///   turned     GroupQueryAttention with the RotaryEmbedding of its queries and of its keys
///              (rotary_groups.h)
///   moves      operators that only move elements, from one value to one (move_groups.h)
///   views      element-wise operators among operators that move elements, to one value
///              (view_groups.h)
/// BatchNormalization with constant statistics counts as element-wise. A chain goes on while the
/// value at its end has one reader, or while all its readers join again (Mul(x, Sigmoid(x))). Its
/// other operands come from constants or from outside (residual add).
std::vector<Group> ListGroups(const ir::Graph& graph);

/// A group as a graph of its own, and what its operands are called in the parent graph.
struct Fragment {
  std::shared_ptr<const ir::Graph> graph;
  std::vector<ir::ValueId> inputs;   // of the parent, one per graph->inputs
  std::vector<ir::ValueId> outputs;  // of the parent, one per graph->outputs
};

/// Inputs are values read from outside that are not constant, in first-use order. Constants are
/// shared. Outputs are values used outside or by the graph's outputs (of a single node: all its
/// outputs).
Fragment ExtractGroup(const ir::Graph& graph, const Group& group);

/// Cuts groups whose outputs are not listed yet, each in time of the group. The graph must outlive
/// it and not change. Belongs to one thread.
class GroupCutter {
 public:
  explicit GroupCutter(const ir::Graph& graph);
  Fragment Cut(const std::vector<ir::NodeId>& nodes);

 private:
  static void CountReads(const ir::Node& node, int change, IdVector<ir::ValueId, int>& reads);

  const ir::Graph& graph_;
  IdVector<ir::ValueId, int> reads_;  // by nodes and as outputs of the graph
};

}  // namespace fettle::passes
