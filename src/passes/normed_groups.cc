#include "passes/normed_groups.h"

#include <algorithm>
#include <iterator>

#include "ops/op.h"

namespace fettle::passes {
namespace {

class NormLister {
 public:
  explicit NormLister(const GraphIndex& index) : index_(index), graph_(index.graph()) {}

  void Extend(const Group& group, std::vector<Group>& made) const {
    if (!Makes(graph_.node(group.nodes[0]))) return;
    Group longer{.nodes = group.nodes, .pattern = "normed"};
    ir::ValueId value = graph_.node(group.nodes.back()).outputs[0];
    while (longer.nodes.size() < kMaxGroupNodes) {
      const std::vector<ir::NodeId>& readers = index_.Readers(value);
      const auto norm = std::ranges::find_if(readers, [&](ir::NodeId reader) {
        const ir::Node& node = graph_.node(reader);
        return node.inputs[0] == value && NormalisesByConstants(graph_, node);
      });
      const bool is_shared = index_.IsShared(value);
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
    return node.op == "MatMul"_op || node.op == "Gemm"_op || IsElementwise(node);
  }
  static bool IsView(const ir::Node& node) {
    return node.outputs.size() == 1 && node.op->Has(ir::Trait::kKeepsBytes);
  }
  const GraphIndex& index_;
  const ir::Graph& graph_;
};

}  // namespace

bool NormalisesByConstants(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != "LayerNormalization"_op && node.op != "RMSNormalization"_op) return false;
  return node.outputs.size() == 1 &&
         std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ir::ValueId id) {
           return id == ir::kAbsent || graph.value(id).is_constant();
         });
}

void ListNormedGroups(const GraphIndex& index, std::vector<Group>& groups) {
  const NormLister lister(index);
  std::vector<Group> made;
  for (const Group& group : groups)
    if (group.pattern == "node" || group.pattern == "epilogue" || group.pattern == "chain")
      lister.Extend(group, made);
  std::ranges::move(made, std::back_inserter(groups));
}

}  // namespace fettle::passes
