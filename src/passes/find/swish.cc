#include "passes/find/swish.h"

#include "passes/find/spelled_product.h"

namespace fettle::passes {
namespace {

void TrySwish(Editor& editor, ir::NodeId id) {
  const ir::Node& node = editor.node(id);
  if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return;
  for (const size_t gate : {0, 1}) {
    const ir::ValueId x = node.inputs[1 - gate];
    const ir::ValueId operand = OperandOf(editor, node.inputs[gate], "Sigmoid"_op);
    if (operand == ir::kAbsent) continue;
    double alpha = 1;
    if (operand != x) {
      const Product product = FlattenProduct(editor, operand);
      const bool scaled = product.values.size() == 1 && product.values[0] == x &&
                          product.constants.empty() && editor.HasOneUse(operand);
      if (!scaled) continue;
      alpha = product.factor;
    }
    editor.Replace(id, "Swish"_op, {x}, {{"alpha", alpha}});
    return;
  }
}

}  // namespace

Result<bool> FindSwish(ir::Graph& graph) {
  if (!HasOp(graph, {"Sigmoid"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "Mul"_op) TrySwish(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
