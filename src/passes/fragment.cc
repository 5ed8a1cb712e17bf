// Cutting a group out of its graph.
#include <unordered_map>

#include "passes/groups.h"

namespace fettle::passes {

GroupCutter::GroupCutter(const ir::Graph& graph) : graph_(graph), reads_(graph.values().size()) {
  for (ir::ValueId id : graph.outputs) ++reads_[id];
  for (const ir::Node& node : graph.nodes()) CountReads(node, 1, reads_);
}

Fragment GroupCutter::Cut(const std::vector<ir::NodeId>& nodes) {
  if (nodes.size() == 1) return ExtractGroup(graph_, {.nodes = nodes});
  Group group{.nodes = nodes};
  for (ir::NodeId id : nodes) CountReads(graph_.node(id), -1, reads_);
  for (ir::NodeId id : nodes) {
    for (ir::ValueId output : graph_.node(id).outputs) {
      if (output != ir::kAbsent && reads_[output] > 0) group.outputs.push_back(output);
    }
  }
  for (ir::NodeId id : nodes) CountReads(graph_.node(id), 1, reads_);
  return ExtractGroup(graph_, group);
}

void GroupCutter::CountReads(const ir::Node& node, int change, IdVector<ir::ValueId, int>& reads) {
  for (ir::ValueId input : node.inputs)
    if (input != ir::kAbsent) reads[input] += change;
}

Fragment ExtractGroup(const ir::Graph& graph, const Group& group) {
  Fragment fragment;
  auto cut = std::make_shared<ir::Graph>();
  std::unordered_map<ir::ValueId, ir::ValueId> copies;
  for (ir::NodeId id : group.nodes) {
    ir::Node node = graph.node(id);
    for (ir::ValueId& value : node.inputs) {
      if (value == ir::kAbsent) continue;
      const auto [copy, is_new] = copies.try_emplace(value, ir::kAbsent);
      if (is_new) {
        copy->second = cut->AddValue(graph.value(value));
        if (!graph.value(value).is_constant()) {
          cut->inputs.push_back(copy->second);
          fragment.inputs.push_back(value);
        }
      }
      value = copy->second;
    }
    for (ir::ValueId& value : node.outputs) {
      if (value == ir::kAbsent) continue;
      const ir::ValueId copy = cut->AddValue(graph.value(value));
      copies.emplace(value, copy);
      value = copy;
    }
    cut->AddNode(std::move(node));
  }
  if (group.nodes.size() == 1) {
    for (ir::ValueId output : graph.node(group.nodes[0]).outputs) {
      if (output != ir::kAbsent) fragment.outputs.push_back(output);
    }
  } else {
    fragment.outputs = group.outputs;
  }
  for (ir::ValueId output : fragment.outputs) cut->outputs.push_back(copies.at(output));
  fragment.graph = std::move(cut);
  return fragment;
}

}  // namespace fettle::passes
