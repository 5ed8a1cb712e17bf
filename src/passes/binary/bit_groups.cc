#include "passes/binary/bit_groups.h"

#include <algorithm>

namespace fettle::passes {
namespace {

/// Operators between a result and its comparison: a shifted sign has one.
constexpr size_t kMaxShifts = 2;

class BitLister {
 public:
  explicit BitLister(const ir::Graph& graph) : graph_(graph), consumers_(graph.Consumers()) {}

  void Extend(const Group& group, std::vector<Group>& made) const {
    const ir::OpRef op = graph_.node(group.nodes[0]).op;
    if (op != "BinaryConv"_op && op != "BinaryMatMul"_op) return;
    const ir::ValueId result = graph_.node(group.nodes.back()).outputs[0];
    const std::vector<ir::NodeId>& readers = consumers_[result];
    for (ir::NodeId reader : readers) {
      std::vector<ir::NodeId> path = PathToBits(result, reader);
      // A result with one reader is not the end of its chain.
      if (path.empty() || (path.size() > 1 && readers.size() == 1) ||
          group.nodes.size() + path.size() > kMaxGroupNodes)
        continue;
      Group longer{.nodes = group.nodes, .pattern = "bits"};
      longer.nodes.insert(longer.nodes.end(), path.begin(), path.end());
      if (readers.size() > 1 || IsOutput(result)) longer.outputs.push_back(result);
      longer.outputs.push_back(graph_.node(path.back()).outputs[0]);
      made.push_back(std::move(longer));
      return;
    }
  }

 private:
  bool IsOutput(ir::ValueId id) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
  }

  /// The nodes from `reader` of `value` to a PackBits; empty where they do not lead to one, or need
  /// what is computed elsewhere.
  std::vector<ir::NodeId> PathToBits(ir::ValueId value, ir::NodeId reader) const {
    std::vector<ir::NodeId> path;
    while (path.size() <= kMaxShifts) {
      const ir::Node& node = graph_.node(reader);
      path.push_back(reader);
      if (node.op == "PackBits"_op) return path;
      const bool is_shift =
          node.op->Has(ir::Trait::kElementwise) && !node.op->Has(ir::Trait::kRandom) &&
          node.outputs.size() == 1 &&
          std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
            return id == ir::kAbsent || id == value || graph_.value(id).is_constant();
          });
      if (!is_shift) return {};
      value = node.outputs[0];
      if (consumers_[value].size() != 1 || IsOutput(value)) return {};
      reader = consumers_[value][0];
    }
    return {};
  }

  const ir::Graph& graph_;
  IdVector<ir::ValueId, std::vector<ir::NodeId>> consumers_;
};

}  // namespace

std::vector<Group> ListBitGroups(const ir::Graph& graph, const std::vector<Group>& groups) {
  const bool has_bits = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                    [](const ir::Node& node) { return node.op == "PackBits"_op; });
  if (!has_bits) return {};
  const BitLister lister(graph);
  std::vector<Group> made;
  for (const Group& group : groups) lister.Extend(group, made);
  return made;
}

}  // namespace fettle::passes
