#include "passes/rewrite/blocked_scales.h"

#include "ops/quantise/op.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

/// The node's scales; of another kind where it is left alone.
ops::QuantAxis BlocksOf(const Editor& editor, const ir::Node& node) {
  for (size_t i = 0; i < 3; ++i) {
    const ir::ValueId id = node.input(i);
    if (id != ir::kAbsent && !editor.value(id).has_concrete_shape()) return {};
  }
  const ir::Value& x = editor.value(node.inputs[0]);
  if (x.is_constant() || x.shape->elements() == 0) return {};
  const auto quant = ops::ReadQuantAxis(node, *x.shape, *editor.value(node.inputs[1]).shape);
  if (!quant.ok() || quant->kind != ops::QuantAxis::Kind::kBlocked) return {};
  const int64_t extent = (*x.shape)[quant->axis];
  return extent > quant->block && extent % quant->block == 0 ? *quant : ops::QuantAxis();
}

void Split(Editor& editor, ir::NodeId id, const ops::QuantAxis& quant) {
  const ir::Node node = editor.node(id);
  const ir::Value result = editor.value(node.outputs[0]);
  TypedNodes nodes(editor, node, result.dtype);
  const Shape x = *editor.value(node.inputs[0]).shape;
  const int64_t outer = x.Count(0, quant.axis), inner = x.Count(quant.axis + 1, x.rank());
  const int64_t blocks = x[quant.axis] / quant.block;
  std::vector<ir::ValueId> inputs;
  for (ir::ValueId input : node.inputs) {
    if (input != ir::kAbsent) {
      const DType dtype = editor.value(input).dtype;
      const Dims dims = {outer, blocks, inputs.empty() ? quant.block : 1, inner};
      input = nodes.AddOf(dtype, "Reshape"_op, {input, nodes.Ints(dims)}, dims);
    }
    inputs.push_back(input);
  }
  ir::Attributes attributes = node.attributes;
  attributes.Set("axis", int64_t{2});
  const ir::ValueId y = nodes.Add(node.op, std::move(inputs), {outer, blocks, quant.block, inner},
                                  std::move(attributes));
  editor.Replace(id, "Reshape"_op, {y, nodes.Ints(x.dims())});
}

}  // namespace

Result<bool> SplitBlockedScales(ir::Graph& graph) {
  if (!HasOp(graph, {"DequantizeLinear"_op, "QuantizeLinear"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node& node = editor.node(id);
    if (node.dead || (node.op != "DequantizeLinear"_op && node.op != "QuantizeLinear"_op) ||
        node.attributes.Int("block_size", 0) == 0)
      continue;
    const ops::QuantAxis quant = BlocksOf(editor, node);
    if (quant.kind == ops::QuantAxis::Kind::kBlocked) Split(editor, id, quant);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
