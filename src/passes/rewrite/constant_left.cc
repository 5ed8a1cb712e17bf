#include "passes/rewrite/constant_left.h"

#include <numeric>

#include "ops/matmul/op.h"
#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// Attributes of a Transpose of the last two of `rank` axes.
ir::Attributes LastTwo(int rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return {{"perm", perm}};
}

/// `x` with its last two axes swapped.
ir::ValueId SwapLast(Editor& editor, const ir::Node& like, ir::ValueId x, const Shape& shape) {
  const ir::ValueId y = editor.Add(like, "Transpose"_op, {x}, LastTwo(shape.rank()));
  Dims dims = shape.dims();
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  editor.SetType(y, editor.value(x).dtype, Shape(dims));
  return y;
}

/// Whether a constant matrix, or several, stand left of computed ones.
bool HasConstantLeft(const Editor& editor, const ir::Node& node) {
  const Constant* weights = ConstantOf(editor.graph(), node.inputs[0]);
  const ir::Value& x = editor.value(node.inputs[1]);
  return weights != nullptr && !x.is_constant() && x.has_concrete_shape() && IsFloat(x.dtype) &&
         weights->shape().rank() >= 2 && x.shape->rank() >= 2 && x.shape->elements() > 0;
}

/// A Gemm swaps its operands alone: each is read as it lies or transposed.
void SwapGemm(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::Value& y = editor.value(node.outputs[0]);
  if (node.input(2) != ir::kAbsent || !y.has_concrete_shape()) return;
  const DType dtype = y.dtype;
  const int64_t m = (*y.shape)[0], n = (*y.shape)[1];
  const auto turned = [&](std::string_view of) {
    return static_cast<int64_t>(node.attributes.Int(of, 0) == 0);
  };
  const ir::ValueId product = editor.Add(node, "Gemm"_op, {node.inputs[1], node.inputs[0]},
                                         {{"alpha", node.attributes.Float("alpha", 1.0)},
                                          {"transA", turned("transB")},
                                          {"transB", turned("transA")}});
  editor.SetType(product, dtype, Shape({n, m}));
  editor.Replace(id, "Transpose"_op, {product}, LastTwo(2));
}

void SwapMatMul(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::Value& x = editor.value(node.inputs[1]);
  const Shape shape = *x.shape, matrices = ConstantOf(editor.graph(), node.inputs[0])->shape();
  const Result<ops::MatMulShape> product_shape = ops::ReadMatMul(matrices, shape);
  if (!product_shape.ok()) return;
  const DType dtype = x.dtype;
  const ir::ValueId right = SwapLast(editor, node, node.inputs[0], matrices);
  const ir::ValueId left = SwapLast(editor, node, node.inputs[1], shape);
  const ir::ValueId product = editor.Add(node, "MatMul"_op, {left, right});
  Dims dims = product_shape->batch.dims();
  dims.insert(dims.end(), {product_shape->n, product_shape->m});
  editor.SetType(product, dtype, Shape(dims));
  editor.Replace(id, "Transpose"_op, {product}, LastTwo(static_cast<int>(dims.size())));
}

}  // namespace

Result<bool> SwapConstantLeft(ir::Graph& graph) {
  if (!HasOp(graph, {"MatMul"_op, "Gemm"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node& node = editor.node(id);
    const bool is_gemm = node.op == "Gemm"_op;
    if (node.dead || (!is_gemm && node.op != "MatMul"_op) || !HasConstantLeft(editor, node))
      continue;
    is_gemm ? SwapGemm(editor, id) : SwapMatMul(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
