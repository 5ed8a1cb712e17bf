#include "importers/onnx/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace fettle::onnx {
namespace {

using Names = std::vector<std::string_view>;

/// Adds the names that the sub-graphs of `node` read from outside.
void AddFreeNames(const NodeRecord& node, Names* free);

Names FreeNames(const GraphRecord& graph) {
  std::unordered_set<std::string_view> local;
  for (const NamedRecord& record : graph.inputs) local.insert(record.name);
  for (const NamedRecord& record : graph.initializers) local.insert(record.name);
  for (const NodeRecord& node : graph.nodes) local.insert(node.outputs.begin(), node.outputs.end());
  Names read;
  for (const NodeRecord& node : graph.nodes) {
    read.insert(read.end(), node.inputs.begin(), node.inputs.end());
    AddFreeNames(node, &read);
  }
  for (const NamedRecord& record : graph.outputs) read.push_back(record.name);
  std::erase_if(read, [&](std::string_view name) { return local.contains(name); });
  return read;
}

void AddFreeNames(const NodeRecord& node, Names* free) {
  for (const AttributeRecord& attribute : node.attributes) {
    if (attribute.graph == nullptr) continue;
    const Names names = FreeNames(*attribute.graph);
    free->insert(free->end(), names.begin(), names.end());
  }
}

/// What each node waits for, as indices of nodes.
using Dependencies = std::vector<std::vector<size_t>>;

Result<Dependencies> FindDependencies(const std::vector<NodeRecord>& nodes) {
  std::unordered_map<std::string_view, size_t> writers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (std::string_view output : nodes[i].outputs) {
      if (output.empty()) continue;
      const auto [it, added] = writers.emplace(output, i);
      if (!added) {
        return InvalidModel("{}: writes value '{}', which {} writes",
                            DescribeRecord(nodes[i], i, 0), output,
                            DescribeRecord(nodes[it->second], it->second, 0));
      }
    }
  }
  Dependencies needs(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    Names read = nodes[i].inputs;
    AddFreeNames(nodes[i], &read);
    for (std::string_view name : read) {
      const auto it = writers.find(name);
      if (it != writers.end()) needs[i].push_back(it->second);
    }
  }
  return needs;
}

/// A node on a cycle: walk from any node that never became ready to one that it waits for, until
/// one comes again.
size_t NodeOnCycle(const Dependencies& needs, const std::vector<bool>& done) {
  size_t at = 0;
  while (done[at]) ++at;
  std::vector<bool> visited(needs.size());
  while (!visited[at]) {
    visited[at] = true;
    for (size_t next : needs[at]) {
      if (!done[next]) {
        at = next;
        break;
      }
    }
  }
  return at;
}

/// What `outputs` follow from.
std::vector<bool> FindNeeded(const std::vector<NodeRecord>& nodes, const Dependencies& needs,
                             const std::vector<size_t>& order,
                             std::span<const std::string_view> outputs) {
  const std::unordered_set<std::string_view> asked(outputs.begin(), outputs.end());
  std::vector<bool> needed(nodes.size());
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    needed[*it] = needed[*it] || std::ranges::any_of(nodes[*it].outputs, [&](auto name) {
                    return asked.contains(name);
                  });
    if (!needed[*it]) continue;
    for (size_t writer : needs[*it]) needed[writer] = true;
  }
  return needed;
}

}  // namespace

std::string LabelOf(const NodeRecord& node, size_t index) {
  return node.name.empty() ? fmt::format("{}_{}", node.op_type, index) : node.name;
}

std::string DescribeRecord(const NodeRecord& node, size_t index, int64_t opset) {
  std::string text = fmt::format("node #{}", index);
  if (!node.name.empty()) text += fmt::format(" '{}'", node.name);
  text += node.domain.empty() ? fmt::format(" ({}", node.op_type)
                              : fmt::format(" ({}.{}", node.domain, node.op_type);
  if (opset > 0) text += fmt::format(", opset {}", opset);
  return text + ")";
}

Result<ImportPlan> PlanImport(const std::vector<NodeRecord>& nodes,
                              std::span<const std::string_view> outputs) {
  ASSIGN_OR_RETURN(const Dependencies needs, FindDependencies(nodes));
  std::vector<size_t> pending(nodes.size());
  Dependencies followers(nodes.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    pending[i] = needs[i].size();
    for (size_t writer : needs[i]) followers[writer].push_back(i);
    if (pending[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  std::vector<bool> done(nodes.size());
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    done[i] = true;
    for (size_t follower : followers[i]) {
      if (--pending[follower] == 0) ready.push(follower);
    }
  }
  if (order.size() < nodes.size()) {
    const size_t i = NodeOnCycle(needs, done);
    return InvalidModel("{}: is part of a cycle of nodes", DescribeRecord(nodes[i], i, 0));
  }
  std::vector<bool> needed = FindNeeded(nodes, needs, order, outputs);
  return ImportPlan{std::move(order), std::move(needed)};
}

}  // namespace fettle::onnx
