// Cutting a group out of its graph.
#include <algorithm>
#include <unordered_map>

#include "passes/groups.h"

namespace fettle::passes {
namespace {

/// Values that members write and that the graph's outputs or other nodes read.
std::vector<ir::ValueId> FindOutputs(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
  const auto is_member = [&](ir::NodeId id) {
    return std::find(nodes.begin(), nodes.end(), id) != nodes.end();
  };
  IdVector<ir::ValueId, bool> outside(graph.values().size());
  for (ir::ValueId id : graph.outputs) outside[id] = true;
  for (ir::NodeId id : graph.nodes().ids()) {
    if (is_member(id)) continue;
    for (ir::ValueId input : graph.node(id).inputs) {
      if (input != ir::kAbsent) outside[input] = true;
    }
  }
  std::vector<ir::ValueId> outputs;
  for (ir::NodeId id : nodes) {
    for (ir::ValueId output : graph.node(id).outputs) {
      if (output != ir::kAbsent && outside[output]) outputs.push_back(output);
    }
  }
  return outputs;
}

}  // namespace

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
    fragment.outputs = group.outputs.empty() ? FindOutputs(graph, group.nodes) : group.outputs;
  }
  for (ir::ValueId output : fragment.outputs) cut->outputs.push_back(copies.at(output));
  fragment.graph = std::move(cut);
  return fragment;
}

}  // namespace fettle::passes
