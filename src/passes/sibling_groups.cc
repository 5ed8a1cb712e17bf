#include "passes/sibling_groups.h"

#include <algorithm>
#include <span>

#include "ops/op.h"

namespace fettle::passes {
namespace {

/// Queries, keys, values, gate and up of a parallel layer; of MatMul three.
constexpr size_t kMostSiblings = 5, kMostMatMuls = 3;

/// By constants, of rows that are used for nothing else.
bool Normalises(const GraphIndex& index, ir::NodeId id, bool in_blocks) {
  if (id < 0) return false;
  const ir::Graph& graph = index.graph();
  const ir::Node& node = graph.node(id);
  const bool is_layer = node.op == "LayerNormalization"_op && node.inputs.size() <= 3 && in_blocks;
  const bool is_rms = node.op == "RMSNormalization"_op && node.inputs.size() == 2;
  return (is_layer || is_rms) && node.outputs.size() == 1 &&
         std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ir::ValueId input) {
           return input != ir::kAbsent && graph.value(input).is_constant();
         });
}

/// A product of one row by a constant.
bool MultipliesOneRow(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != "MatMul"_op || !graph.value(node.inputs[1]).is_constant()) return false;
  const auto& x = graph.value(node.inputs[0]).shape;
  const auto& w = graph.value(node.inputs[1]).shape;
  return x && w && w->rank() == 2 && x->rank() >= 2 && x->elements() == (*x)[x->rank() - 1];
}

/// The activation of one of two products and the Mul by the other: what else reads them is none.
std::vector<ir::NodeId> GateBehind(const GraphIndex& index, std::span<const ir::NodeId> pair) {
  const ir::Graph& graph = index.graph();
  if (pair.size() != 2) return {};
  for (const size_t gated : {0, 1}) {
    const ir::NodeId activation = index.Next(pair[gated]), mul = index.Next(pair[1 - gated]);
    if (activation < 0 || mul < 0 || index.Next(activation) != mul) continue;
    const ir::Node& node = graph.node(activation);
    if (graph.node(mul).op == "Mul"_op && node.inputs.size() == 1 && IsElementwise(node))
      return {activation, mul};
  }
  return {};
}

void AddGated(const GraphIndex& index, Group group, const std::vector<ir::NodeId>& end,
              std::vector<Group>& groups) {
  if (end.empty()) return;
  group.nodes.insert(group.nodes.end(), end.begin(), end.end());
  std::ranges::sort(group.nodes);
  group.outputs = {index.Result(end[1])};
  group.pattern = "gated";
  groups.push_back(std::move(group));
}

}  // namespace

void ListSiblingGroups(const GraphIndex& index, std::vector<Group>& groups) {
  const ir::Graph& graph = index.graph();
  for (ir::NodeId id : graph.nodes().ids()) {
    const ir::Node& node = graph.node(id);
    const bool in_blocks = node.op == "BlockMatMul"_op;
    if (!in_blocks && !MultipliesOneRow(graph, node)) continue;
    const std::vector<ir::NodeId>& readers = index.Readers(node.inputs[0]);
    const size_t most = in_blocks ? kMostSiblings : kMostMatMuls;
    const bool are_siblings = readers.size() >= 2 && readers.size() <= most &&
                              !index.IsOutput(node.inputs[0]) && std::ranges::min(readers) == id &&
                              std::ranges::all_of(readers, [&](ir::NodeId reader) {
                                const ir::Node& other = graph.node(reader);
                                return other.op == node.op && other.inputs[0] == node.inputs[0] &&
                                       (in_blocks || MultipliesOneRow(graph, other));
                              });
    if (!are_siblings) continue;
    Group group{.nodes = readers, .pattern = "siblings"};
    std::ranges::sort(group.nodes);
    for (ir::NodeId reader : group.nodes) group.outputs.push_back(graph.node(reader).outputs[0]);
    const std::vector<ir::NodeId> gate = GateBehind(index, group.nodes);
    if (in_blocks) {
      groups.push_back(group);
      AddGated(index, group, gate, groups);
    }
    const ir::NodeId norm = index.Maker(node.inputs[0]);
    if (!Normalises(index, norm, in_blocks)) continue;
    group.nodes.insert(group.nodes.begin(), norm);
    groups.push_back(group);
    AddGated(index, std::move(group), gate, groups);
  }
}

}  // namespace fettle::passes
