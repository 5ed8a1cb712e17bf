#include "passes/rewrite/sums.h"

#include "ops/op.h"

namespace fettle::passes {

Result<bool> SumToAdd(ir::Graph& graph) {
  bool changed = false;
  for (ir::NodeId id = 0; static_cast<size_t>(id) < graph.nodes().size(); ++id) {
    ir::Node& node = graph.node(id);
    if (node.op != "Sum"_op || node.inputs.size() != 2) continue;
    node.op = "Add"_op;
    changed = true;
  }
  return changed;
}

}  // namespace fettle::passes
