#include "ir/graph.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace fettle::ir {
namespace {

/// Whether each live node stands behind those that it reads from.
bool IsInOrder(const IdVector<NodeId, Node>& nodes, const IdVector<ValueId, NodeId>& producers) {
  for (NodeId id : nodes.ids()) {
    if (nodes[id].dead) continue;
    for (ValueId input : nodes[id].inputs)
      if (input != kAbsent && producers[input] >= id) return false;
  }
  return true;
}

/// Topological order of the live nodes, keeping the given order where it is free to; empty result
/// on a cycle.
std::vector<NodeId> TopologicalOrder(const IdVector<NodeId, Node>& nodes,
                                     const IdVector<ValueId, NodeId>& producers) {
  IdVector<NodeId, int> pending(nodes.size());
  IdVector<NodeId, std::vector<NodeId>> followers(nodes.size());
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id : nodes.ids()) {
    if (nodes[id].dead) continue;
    for (ValueId input : nodes[id].inputs) {
      if (input == kAbsent) continue;
      const NodeId producer = producers[input];
      if (producer < 0) continue;
      ++pending[id];
      followers[producer].push_back(id);
    }
    if (pending[id] == 0) ready.push(id);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (NodeId follower : followers[id]) {
      if (--pending[follower] == 0) ready.push(follower);
    }
  }
  return order;
}

}  // namespace

std::string Describe(const Node& node) {
  const std::string_view op = node.source_op.empty() ? node.op.name() : node.source_op;
  std::string text = node.source_index >= 0 ? fmt::format("node #{}", node.source_index) : "node";
  if (!node.name.empty()) text += fmt::format(" '{}'", node.name);
  text += fmt::format(" ({}", op);
  if (node.source_opset > 0) text += fmt::format(", opset {}", node.source_opset);
  return text + ")";
}

ValueId Graph::AddValue(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::AddConstant(std::string value_name, Constant constant) {
  Value value;
  value.name = std::move(value_name);
  value.dtype = constant.dtype();
  value.shape = constant.shape();
  value.constant = std::make_shared<const Constant>(std::move(constant));
  return AddValue(std::move(value));
}

NodeId Graph::AddNode(Node node) {
  FETTLE_CHECK(node.op, "a node without an operator");
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

std::optional<ValueId> Graph::FindValue(std::string_view value_name) const {
  for (ValueId id : values_.ids()) {
    if (values_[id].name == value_name) return id;
  }
  return std::nullopt;
}

IdVector<ValueId, NodeId> Graph::Producers() const {
  IdVector<ValueId, NodeId> producers(values_.size(), -1);
  for (NodeId id : nodes_.ids()) {
    if (nodes_[id].dead) continue;
    for (ValueId output : nodes_[id].outputs) {
      if (output != kAbsent) producers[output] = id;
    }
  }
  return producers;
}

IdVector<ValueId, std::vector<NodeId>> Graph::Consumers() const {
  IdVector<ValueId, std::vector<NodeId>> consumers(values_.size());
  for (NodeId id : nodes_.ids()) {
    if (nodes_[id].dead) continue;
    for (ValueId input : nodes_[id].inputs) {
      if (input == kAbsent) continue;
      auto& readers = consumers[input];
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
  }
  return consumers;
}

namespace {

/// Leaves the values that somebody names, and renames them.
void DropUnused(std::vector<ValueId>& inputs, std::vector<ValueId>& outputs,
                IdVector<NodeId, Node>& nodes, IdVector<ValueId, Value>& values) {
  const auto for_each_list = [&](auto&& visit) {
    visit(inputs);
    visit(outputs);
    for (Node& node : nodes) {
      visit(node.inputs);
      visit(node.outputs);
    }
  };
  IdVector<ValueId, bool> used(values.size());
  for_each_list([&](const std::vector<ValueId>& ids) {
    for (ValueId id : ids) {
      if (id != kAbsent) used[id] = true;
    }
  });
  if (std::ranges::all_of(used, std::identity())) return;
  IdVector<ValueId, ValueId> renamed(values.size(), kAbsent);
  ValueId kept = 0;
  for (ValueId id : values.ids()) {
    if (!used[id]) continue;
    if (kept != id) values[kept] = std::move(values[id]);
    renamed[id] = kept++;
  }
  values.erase(values.begin() + kept, values.end());
  for_each_list([&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id != kAbsent) id = renamed[id];
    }
  });
}

}  // namespace

Status Graph::Normalise() {
  const IdVector<ValueId, NodeId> producers = Producers();
  if (IsInOrder(nodes_, producers)) {
    std::erase_if(nodes_, [](const Node& node) { return node.dead; });
    DropUnused(inputs, outputs, nodes_, values_);
    return OkStatus();
  }
  const std::vector<NodeId> order = TopologicalOrder(nodes_, producers);
  const auto live =
      std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return !node.dead; });
  if (static_cast<ptrdiff_t>(order.size()) != live)
    return InvalidModel("graph '{}': nodes form a cycle", name);
  IdVector<NodeId, Node> sorted;
  sorted.reserve(order.size());
  for (NodeId id : order) sorted.push_back(std::move(nodes_[id]));
  nodes_ = std::move(sorted);
  DropUnused(inputs, outputs, nodes_, values_);
  return OkStatus();
}

Status Verify(const Graph& graph) {
  const auto count = static_cast<ValueId>(graph.values().size());
  IdVector<ValueId, bool> defined(graph.values().size());
  for (ValueId id : graph.values().ids()) defined[id] = graph.value(id).is_constant();
  for (ValueId id : graph.inputs) {
    if (id < 0 || id >= count) return Error(StatusCode::kInternal, "graph input out of range");
    defined[id] = true;
  }
  for (const Node& node : graph.nodes()) {
    if (node.dead)
      return Error(StatusCode::kInternal, "{}: dead node left in the graph", Describe(node));
    for (ValueId id : node.inputs) {
      if (id == kAbsent) continue;
      if (id < 0 || id >= count || !defined[id]) {
        return Error(StatusCode::kInternal, "{}: reads a value before it is written",
                     Describe(node));
      }
    }
    for (ValueId id : node.outputs) {
      if (id == kAbsent) continue;
      if (id < 0 || id >= count || defined[id]) {
        return Error(StatusCode::kInternal, "{}: writes a value twice", Describe(node));
      }
      defined[id] = true;
    }
  }
  for (ValueId id : graph.outputs) {
    if (id < 0 || id >= count || !defined[id]) {
      return Error(StatusCode::kInternal, "graph output is never written");
    }
  }
  return OkStatus();
}

}  // namespace fettle::ir
