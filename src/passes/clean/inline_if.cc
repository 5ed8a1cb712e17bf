#include "passes/clean/inline_if.h"

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// The branch that a constant condition takes; null where it is not known or does not fit the node.
std::shared_ptr<const ir::Graph> TakenBranch(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != "If"_op || node.inputs.empty()) return nullptr;
  const Constant* condition = ConstantOf(graph, node.inputs[0]);
  if (condition == nullptr || condition->elements() != 1) return nullptr;
  auto branch = node.attributes.SubGraph(condition->GetInt(0) != 0 ? "then_branch" : "else_branch");
  if (branch == nullptr || branch->inputs.size() + 1 != node.inputs.size() ||
      branch->outputs.size() < node.outputs.size()) {
    return nullptr;
  }
  return branch;
}

/// Copies nodes and values of `branch` behind those of `graph`.
void Inline(ir::Graph& graph, const ir::Node& node, const ir::Graph& branch) {
  IdVector<ir::ValueId, ir::ValueId> map(branch.values().size(), ir::kAbsent);
  for (size_t i = 0; i < branch.inputs.size(); ++i) map[branch.inputs[i]] = node.inputs[i + 1];
  const auto mapped = [&](ir::ValueId id) {
    if (id == ir::kAbsent) return id;
    ir::ValueId& to = map[id];
    if (to == ir::kAbsent) to = graph.AddValue(branch.value(id));
    return to;
  };
  for (const ir::Node& inner : branch.nodes()) {
    ir::Node copy = inner;
    for (ir::ValueId& id : copy.inputs) id = mapped(id);
    for (ir::ValueId& id : copy.outputs) id = mapped(id);
    graph.AddNode(std::move(copy));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ir::kAbsent) continue;
    ir::Node identity = node;
    identity.op = "Identity"_op;
    identity.attributes = {};
    identity.inputs = {mapped(branch.outputs[i])};
    identity.outputs = {node.outputs[i]};
    graph.AddNode(std::move(identity));
  }
}

}  // namespace

Result<bool> InlineConstantIf(ir::Graph& graph) {
  if (!HasOp(graph, {"If"_op})) return false;
  bool changed = false;
  // Nodes that come with a branch are visited too: an If in it may be known as well.
  for (ir::NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    const auto branch = TakenBranch(graph, graph.node(id));
    if (branch == nullptr) continue;
    const ir::Node node = graph.node(id);
    graph.node(id).dead = true;
    Inline(graph, node, *branch);
    changed = true;
  }
  if (changed) RETURN_IF_ERROR(graph.Normalise());
  return changed;
}

}  // namespace fettle::passes
