#include "passes/rewrite/bias_apart.h"

#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

bool IsConstant(const Editor& editor, ir::ValueId value) {
  return ConstantOf(editor.graph(), value) != nullptr;
}

/// Whether a bias of this shape is the same in all rows.
bool IsRow(const Shape& bias) { return bias.rank() < 2 || bias[0] == 1; }

/// Whether kernels multiply matrices of this type and do nothing else.
bool MultipliesAlone(DType dtype) { return dtype == DType::kF64 || IsInteger(dtype); }

/// A Gemm's factor of its product or its bias, as the type's own number.
bool IsNumberOf(DType dtype, double factor) {
  return dtype == DType::kF64 || factor == static_cast<double>(static_cast<int32_t>(factor));
}

bool IsTypedApart(const ir::Node& node, DType dtype) {
  const double alpha = node.attributes.Float("alpha", 1.0);
  return (alpha != 1 || node.input(2) != ir::kAbsent) && IsNumberOf(dtype, alpha) &&
         IsNumberOf(dtype, node.attributes.Float("beta", 1.0));
}

bool StandsApart(const Editor& editor, const ir::Node& node) {
  const ir::Value& y = editor.value(node.outputs[0]);
  if (!y.has_concrete_shape()) return false;
  if (node.op == "Gemm"_op && MultipliesAlone(y.dtype)) return IsTypedApart(node, y.dtype);
  if (node.input(2) == ir::kAbsent || !IsFloat(y.dtype)) return false;
  const ir::Value& bias = editor.value(node.inputs[2]);
  if (!bias.has_concrete_shape()) return false;
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
  const bool has_bias = node.input(2) != ir::kAbsent;
  ir::ValueId addend = ir::kAbsent;
  if (has_bias) {
    ASSIGN_OR_RETURN(addend, Addend(nodes, node, shape));
  }
  ir::Attributes attributes = node.attributes;
  const double alpha = attributes.Float("alpha", 1.0);
  const bool is_scaled = node.op == "Gemm"_op && MultipliesAlone(nodes.dtype()) && alpha != 1;
  if (is_scaled) attributes.Set("alpha", 1.0);
  ir::ValueId sums =
      nodes.Add(node.op, {node.inputs[0], node.inputs[1]}, shape.dims(), std::move(attributes));
  if (is_scaled) {
    ASSIGN_OR_RETURN(const ir::ValueId factor, nodes.Number(alpha));
    if (!has_bias) {
      editor.Replace(id, "Mul"_op, {sums, factor});
      return OkStatus();
    }
    sums = nodes.Add("Mul"_op, {sums, factor}, shape.dims());
  }
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
    if (!node.dead && has_bias && StandsApart(editor, node)) RETURN_IF_ERROR(AddApart(editor, id));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
