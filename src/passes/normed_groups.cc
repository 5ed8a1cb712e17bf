#include "passes/normed_groups.h"

#include <algorithm>

#include "ops/op.h"

namespace fettle::passes {
namespace {

class NormLister {
 public:
  explicit NormLister(const ir::Graph& graph)
      : graph_(graph), consumers_(graph.Consumers()), is_output_(graph.values().size()) {
    for (ir::ValueId id : graph.outputs) is_output_[id] = true;
  }

  void Extend(const Group& group, std::vector<Group>& made) const {
    if (!Makes(graph_.node(group.nodes[0]))) return;
    Group longer{.nodes = group.nodes, .pattern = "normed"};
    ir::ValueId value = graph_.node(group.nodes.back()).outputs[0];
    while (longer.nodes.size() < kMaxGroupNodes) {
      const std::vector<ir::NodeId>& readers = consumers_[value];
      const auto norm = std::ranges::find_if(
          readers, [&](ir::NodeId reader) { return Normalises(graph_.node(reader), value); });
      const bool is_shared = readers.size() > 1 || is_output_[value];
      if (norm != readers.end()) {
        longer.nodes.push_back(*norm);
        if (is_shared) longer.outputs.push_back(value);
        longer.outputs.push_back(graph_.node(*norm).outputs[0]);
        made.push_back(std::move(longer));
        return;
      }
      if (is_shared || readers.empty() || !IsView(graph_.node(readers[0]))) return;
      longer.nodes.push_back(readers[0]);
      value = graph_.node(readers[0]).outputs[0];
    }
  }

 private:
  static bool Makes(const ir::Node& node) {
    const bool is_elementwise = node.op->Has(ir::Trait::kElementwise) &&
                                !node.op->Has(ir::Trait::kRandom) && node.outputs.size() == 1;
    return node.op == "MatMul"_op || node.op == "Gemm"_op || is_elementwise;
  }
  static bool IsView(const ir::Node& node) {
    return node.outputs.size() == 1 && node.op->Has(ir::Trait::kKeepsBytes);
  }
  /// By constants, with one result.
  bool Normalises(const ir::Node& node, ir::ValueId value) const {
    if (node.op != "LayerNormalization"_op && node.op != "RMSNormalization"_op) return false;
    return node.inputs[0] == value && node.outputs.size() == 1 &&
           std::all_of(node.inputs.begin() + 1, node.inputs.end(), [this](ir::ValueId id) {
             return id == ir::kAbsent || graph_.value(id).is_constant();
           });
  }

  const ir::Graph& graph_;
  IdVector<ir::ValueId, std::vector<ir::NodeId>> consumers_;
  IdVector<ir::ValueId, bool> is_output_;
};

}  // namespace

std::vector<Group> ListNormedGroups(const ir::Graph& graph, const std::vector<Group>& groups) {
  const NormLister lister(graph);
  std::vector<Group> made;
  for (const Group& group : groups)
    if (group.pattern == "node" || group.pattern == "epilogue" || group.pattern == "chain")
      lister.Extend(group, made);
  return made;
}

}  // namespace fettle::passes
