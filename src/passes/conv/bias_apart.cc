#include "passes/conv/bias_apart.h"

#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

bool IsMixed(const Editor& editor, const ir::Node& node) {
  if (node.input(2) == ir::kAbsent) return false;
  const auto is_constant = [&](size_t i) {
    return ConstantOf(editor.graph(), node.inputs[i]) != nullptr;
  };
  const ir::Value& y = editor.value(node.outputs[0]);
  return is_constant(1) != is_constant(2) && y.has_concrete_shape() && IsFloat(y.dtype) &&
         editor.value(node.inputs[2]).has_concrete_shape();
}

void AddApart(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  TypedNodes nodes(editor, node, editor.value(node.outputs[0]).dtype);
  const Shape& y = *editor.value(node.outputs[0]).shape;
  Dims bias(y.rank() - 1, 1);
  bias[0] = y[1];
  const ir::ValueId sums = nodes.Add(node.op, {node.inputs[0], node.inputs[1]}, y.dims(),
                                     node.attributes);
  editor.Replace(id, "Add"_op, {sums, nodes.Reshape(node.inputs[2], bias)});
}

}  // namespace

Result<bool> AddBiasApart(ir::Graph& graph) {
  if (!HasOp(graph, {"Conv"_op, "ConvTranspose"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node& node = editor.node(id);
    const bool is_conv = node.op == "Conv"_op || node.op == "ConvTranspose"_op;
    if (!node.dead && is_conv && IsMixed(editor, node)) AddApart(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
