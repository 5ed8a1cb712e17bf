#include "passes/rewrite/bias_apart.h"

#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

bool IsConstant(const Editor& editor, ir::ValueId value) {
  return ConstantOf(editor.graph(), value) != nullptr;
}

/// Whether a bias of this shape is the same in all rows.
bool IsRow(const Shape& bias) { return bias.rank() < 2 || bias[0] == 1; }

bool StandsApart(const Editor& editor, const ir::Node& node) {
  if (node.input(2) == ir::kAbsent) return false;
  const ir::Value &y = editor.value(node.outputs[0]), &bias = editor.value(node.inputs[2]);
  if (!y.has_concrete_shape() || !IsFloat(y.dtype) || !bias.has_concrete_shape()) return false;
  const bool has_weights = IsConstant(editor, node.inputs[1]);
  const bool has_bias = IsConstant(editor, node.inputs[2]);
  if (node.op != "Gemm"_op) return has_weights != has_bias;
  const bool packs_bias = has_weights && IsRow(*bias.shape);
  return (has_bias && !packs_bias) || IsConstant(editor, node.inputs[0]);
}

/// Gemm's C times beta, or a convolution's bias as a column of planes.
Result<ir::ValueId> Addend(TypedNodes& nodes, const ir::Node& node, const Shape& y) {
  const ir::ValueId bias = node.inputs[2];
  if (node.op != "Gemm"_op) {
    Dims dims(y.rank() - 1, 1);
    dims[0] = y[1];
    return nodes.Reshape(bias, dims);
  }
  const double beta = node.attributes.Float("beta", 1.0);
  if (beta == 1) return bias;
  ASSIGN_OR_RETURN(const ir::ValueId factor, nodes.Number(beta));
  return nodes.Add("Mul"_op, {bias, factor}, nodes.ShapeOf(bias).dims());
}

Status AddApart(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::Value& y = editor.value(node.outputs[0]);
  TypedNodes nodes(editor, node, y.dtype);
  const Shape shape = *y.shape;
  ASSIGN_OR_RETURN(const ir::ValueId addend, Addend(nodes, node, shape));
  const ir::ValueId sums =
      nodes.Add(node.op, {node.inputs[0], node.inputs[1]}, shape.dims(), node.attributes);
  editor.Replace(id, "Add"_op, {sums, addend});
  return OkStatus();
}

}  // namespace

Result<bool> AddBiasApart(ir::Graph& graph) {
  if (!HasOp(graph, {"Conv"_op, "ConvTranspose"_op, "Gemm"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node& node = editor.node(id);
    const bool has_bias =
        node.op == "Conv"_op || node.op == "ConvTranspose"_op || node.op == "Gemm"_op;
    if (!node.dead && has_bias && StandsApart(editor, node))
      RETURN_IF_ERROR(AddApart(editor, id));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
