#include "passes/rewrite/sums.h"

#include "ops/op.h"

namespace fettle::passes {

Result<bool> SumToAdd(ir::Graph& graph) {
  bool changed = false;
  for (ir::NodeId id : graph.nodes().ids()) {
    ir::Node& node = graph.node(id);
    if (node.op != "Sum"_op || node.inputs.size() != 2) continue;
    node.op = "Add"_op;
    changed = true;
  }
  return changed;
}

}  // namespace fettle::passes
