#include "ir/graph.h"

#include <algorithm>
#include <queue>

namespace fettle::ir {
namespace {

/// Topological order of the live nodes, keeping the given order where it is free to; empty result
/// on a cycle.
std::vector<NodeId> TopologicalOrder(const std::vector<Node>& nodes,
                                     const std::vector<NodeId>& producers) {
  std::vector<int> pending(nodes.size());
  std::vector<std::vector<NodeId>> followers(nodes.size());
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].dead) continue;
    for (ValueId input : nodes[i].inputs) {
      if (input == kAbsent) continue;
      const NodeId producer = producers[static_cast<size_t>(input)];
      if (producer < 0) continue;
      ++pending[i];
      followers[static_cast<size_t>(producer)].push_back(static_cast<NodeId>(i));
    }
    if (pending[i] == 0) ready.push(static_cast<NodeId>(i));
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (NodeId follower : followers[static_cast<size_t>(id)]) {
      if (--pending[static_cast<size_t>(follower)] == 0) ready.push(follower);
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
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].name == value_name) return static_cast<ValueId>(i);
  }
  return std::nullopt;
}

std::vector<NodeId> Graph::Producers() const {
  std::vector<NodeId> producers(values_.size(), -1);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].dead) continue;
    for (ValueId output : nodes_[i].outputs) {
      if (output != kAbsent) producers[static_cast<size_t>(output)] = static_cast<NodeId>(i);
    }
  }
  return producers;
}

std::vector<std::vector<NodeId>> Graph::Consumers() const {
  std::vector<std::vector<NodeId>> consumers(values_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].dead) continue;
    for (ValueId input : nodes_[i].inputs) {
      if (input == kAbsent) continue;
      auto& readers = consumers[static_cast<size_t>(input)];
      if (readers.empty() || readers.back() != static_cast<NodeId>(i))
        readers.push_back(static_cast<NodeId>(i));
    }
  }
  return consumers;
}

void Graph::ReplaceUses(ValueId from, ValueId to) {
  for (Node& node : nodes_) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(outputs.begin(), outputs.end(), from, to);
}

Status Graph::Normalise() {
  const std::vector<NodeId> order = TopologicalOrder(nodes_, Producers());
  const auto live =
      std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return !node.dead; });
  if (static_cast<ptrdiff_t>(order.size()) != live)
    return InvalidModel("graph '{}': nodes form a cycle", name);

  std::vector<bool> used(values_.size());
  const auto mark = [&](const std::vector<ValueId>& ids) {
    for (ValueId id : ids) {
      if (id != kAbsent) used[static_cast<size_t>(id)] = true;
    }
  };
  mark(inputs);
  mark(outputs);
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (NodeId id : order) {
    sorted.push_back(std::move(nodes_[static_cast<size_t>(id)]));
    mark(sorted.back().inputs);
    mark(sorted.back().outputs);
  }
  nodes_ = std::move(sorted);

  std::vector<ValueId> renumbered(values_.size(), kAbsent);
  std::vector<Value> kept;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = static_cast<ValueId>(kept.size());
    kept.push_back(std::move(values_[i]));
  }
  values_ = std::move(kept);
  const auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id != kAbsent) id = renumbered[static_cast<size_t>(id)];
    }
  };
  renumber(inputs);
  renumber(outputs);
  for (Node& node : nodes_) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
  return OkStatus();
}

Status Verify(const Graph& graph) {
  const auto count = static_cast<ValueId>(graph.values().size());
  std::vector<bool> defined(graph.values().size());
  for (ValueId id = 0; id < count; ++id)
    defined[static_cast<size_t>(id)] = graph.value(id).is_constant();
  for (ValueId id : graph.inputs) {
    if (id < 0 || id >= count) return Error(StatusCode::kInternal, "graph input out of range");
    defined[static_cast<size_t>(id)] = true;
  }
  for (const Node& node : graph.nodes()) {
    if (node.dead)
      return Error(StatusCode::kInternal, "{}: dead node left in the graph", Describe(node));
    for (ValueId id : node.inputs) {
      if (id == kAbsent) continue;
      if (id < 0 || id >= count || !defined[static_cast<size_t>(id)]) {
        return Error(StatusCode::kInternal, "{}: reads a value before it is written",
                     Describe(node));
      }
    }
    for (ValueId id : node.outputs) {
      if (id == kAbsent) continue;
      if (id < 0 || id >= count || defined[static_cast<size_t>(id)]) {
        return Error(StatusCode::kInternal, "{}: writes a value twice", Describe(node));
      }
      defined[static_cast<size_t>(id)] = true;
    }
  }
  for (ValueId id : graph.outputs) {
    if (id < 0 || id >= count || !defined[static_cast<size_t>(id)]) {
      return Error(StatusCode::kInternal, "graph output is never written");
    }
  }
  return OkStatus();
}

}  // namespace fettle::ir
