#include "passes/rewrite/late_expands.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// Operators whose operands all broadcast by NumPy's rules.
bool Broadcasts(ir::OpRef op) {
  const std::initializer_list<ir::OpRef> ops = {
      "Add"_op,     "Sub"_op,           "Mul"_op, "Div"_op, "Pow"_op,   "Min"_op,  "Max"_op,
      "Where"_op,   "And"_op,           "Or"_op,  "Xor"_op, "Equal"_op, "Less"_op, "LessOrEqual"_op,
      "Greater"_op, "GreaterOrEqual"_op};
  return std::ranges::find(ops, op) != ops.end();
}

/// Whether the node's result keeps its shape with `x` as operand `at`.
bool KeepsShape(const Editor& editor, const ir::Node& node, size_t at, ir::ValueId x) {
  const ir::Value& result = editor.value(node.outputs[0]);
  if (!result.has_concrete_shape()) return false;
  std::optional<Shape> shape = Shape{};
  for (size_t i = 0; i < node.inputs.size() && shape; ++i) {
    const ir::ValueId id = i == at ? x : node.inputs[i];
    if (id == ir::kAbsent || !editor.value(id).has_concrete_shape()) return false;
    shape = BroadcastShapes(*shape, *editor.value(id).shape);
  }
  return shape && *shape == *result.shape;
}

}  // namespace

Result<bool> DropExpandsBeforeBroadcasts(ir::Graph& graph) {
  if (!HasOp(graph, {"Expand"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node node = editor.node(id);
    if (node.dead || !Broadcasts(node.op)) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::Node* expand = editor.Producer(editor.node(id).inputs[i], "Expand"_op);
      if (expand == nullptr) continue;
      const ir::ValueId x = expand->inputs[0];
      if (KeepsShape(editor, editor.node(id), i, x)) editor.SetInput(id, i, x);
    }
  }
  return editor.Finish();
}

}  // namespace fettle::passes
