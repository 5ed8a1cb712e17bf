#include "passes/rewrite/residual_reshapes.h"

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// Whether `id` is a product, also with a constant added to it.
bool IsProduct(const Editor& editor, ir::ValueId id) {
  const ir::Node* node = editor.Producer(id);
  if (node == nullptr) return false;
  if (node->op == "MatMul"_op || node->op == "Gemm"_op) return true;
  if (node->op != "Add"_op) return false;
  for (const size_t i : {0, 1}) {
    if (editor.Producer(node->inputs[i], "MatMul"_op) != nullptr &&
        ConstantOf(editor.graph(), node->inputs[1 - i]) != nullptr)
      return true;
  }
  return false;
}

void MoveBehind(Editor& editor, ir::NodeId id) {
  for (const size_t i : {0, 1}) {
    const ir::Node& sum = editor.node(id);
    const ir::ValueId reshaped = sum.inputs[i], residual = sum.inputs[1 - i];
    const ir::Node* reshape = editor.Producer(reshaped, "Reshape"_op);
    if (reshape == nullptr || !editor.HasOneUse(reshaped)) continue;
    const ir::ValueId product = reshape->inputs[0];
    const ir::Value &x = editor.value(product), &y = editor.value(sum.outputs[0]),
                    &r = editor.value(residual);
    if (!editor.HasOneUse(product) || !IsProduct(editor, product) || r.is_constant() ||
        !x.has_concrete_shape() || !y.has_concrete_shape() || !r.has_concrete_shape() ||
        r.shape->dims() != y.shape->dims() || x.shape->elements() != y.shape->elements() ||
        x.shape->elements() == 0)
      continue;
    const ir::Node like = sum, like_reshape = *reshape;
    const Shape inner = *x.shape, outer = *y.shape;
    const DType type = x.dtype;
    const ir::ValueId moved = editor.Add(
        like_reshape, "Reshape"_op, {residual, editor.AddConstant(IntsConstant(inner.dims()))});
    editor.SetType(moved, type, inner);
    const ir::ValueId added = editor.Add(like, "Add"_op, {product, moved});
    editor.SetType(added, type, inner);
    const ir::NodeId last =
        editor.Replace(id, "Reshape"_op, {added, editor.AddConstant(IntsConstant(outer.dims()))});
    editor.CopyProvenance(like_reshape, last);
    return;
  }
}

}  // namespace

Result<bool> MoveReshapesBehindSums(ir::Graph& graph) {
  if (!HasOp(graph, {"MatMul"_op, "Gemm"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "Add"_op) MoveBehind(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
