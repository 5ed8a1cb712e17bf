#include "passes/clean/dead_code.h"

#include "ops/op.h"

namespace fettle::passes {
namespace {

/// Drops the unneeded outputs of a live node.
bool TrimOutputs(ir::Node& node, const IdVector<ir::ValueId, bool>& needed) {
  bool changed = false;
  for (ir::ValueId& output : node.outputs) {
    if (output == ir::kAbsent || needed[output]) continue;
    output = ir::kAbsent;
    changed = true;
  }
  if (node.op->max_outputs < 0 || node.op->Has(ir::Trait::kControl)) return changed;
  while (node.outputs.size() > 1 && node.outputs.back() == ir::kAbsent) {
    node.outputs.pop_back();
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> RemoveDeadCode(ir::Graph& graph) {
  IdVector<ir::ValueId, bool> needed(graph.values().size());
  for (ir::ValueId id : graph.outputs) needed[id] = true;
  bool changed = false;
  for (auto id = static_cast<ir::NodeId>(graph.nodes().size()) - 1; id >= 0; --id) {
    ir::Node& node = graph.node(id);
    bool live = false;
    for (ir::ValueId output : node.outputs) {
      live = live || (output != ir::kAbsent && needed[output]);
    }
    if (!live) {
      node.dead = true;
      changed = true;
      continue;
    }
    changed |= TrimOutputs(node, needed);
    for (ir::ValueId input : node.inputs) {
      if (input != ir::kAbsent) needed[input] = true;
    }
  }
  if (changed) RETURN_IF_ERROR(graph.Normalise());
  return changed;
}

}  // namespace fettle::passes
