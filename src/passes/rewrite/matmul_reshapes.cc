#include "passes/rewrite/matmul_reshapes.h"

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

void TryMove(Editor& editor, ir::NodeId id) {
  const ir::Node& reshape = editor.node(id);
  const ir::ValueId product = reshape.inputs[0];
  const ir::Node* matmul = editor.Producer(product, "MatMul"_op);
  if (matmul == nullptr || !editor.HasOneUse(product)) return;
  const Constant* weights = ConstantOf(editor.graph(), matmul->inputs[1]);
  const ir::Value &x = editor.value(matmul->inputs[0]), &y = editor.value(reshape.outputs[0]);
  if (weights == nullptr || weights->shape().rank() != 2 || !x.has_concrete_shape() ||
      !y.has_concrete_shape() || x.shape->rank() < 2 || y.shape->rank() < 2 ||
      y.shape->elements() == 0 || x.shape->elements() == 0 ||
      (*y.shape)[y.shape->rank() - 1] != weights->shape()[1]) {
    return;
  }
  Dims dims = y.shape->dims();
  dims.back() = weights->shape()[0];
  // The source of a Reshape in front may have the shape already.
  const ir::Node* before = editor.Producer(matmul->inputs[0], "Reshape"_op);
  const ir::ValueId matrix = matmul->inputs[1];
  ir::ValueId source = before == nullptr ? matmul->inputs[0] : before->inputs[0];
  const ir::Value& start = editor.value(source);
  const bool fits = start.has_concrete_shape() && start.shape->dims() == dims;
  if (before == nullptr && !fits) return;
  const ir::Node like = *matmul;
  if (!fits) {
    const ir::ValueId target = editor.AddConstant(IntsConstant(dims));
    source = editor.Add(like, "Reshape"_op, {source, target});
    editor.SetType(source, editor.value(like.inputs[0]).dtype, Shape(dims));
  }
  const ir::NodeId moved = editor.Replace(id, "MatMul"_op, {source, matrix}, like.attributes);
  editor.CopyProvenance(like, moved);
}

}  // namespace

Result<bool> MoveReshapesBeforeMatMul(ir::Graph& graph) {
  if (!HasOp(graph, {"MatMul"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node& node = editor.node(id);
    if (node.dead) continue;
    if (node.op == "Reshape"_op || node.op == "Unsqueeze"_op || node.op == "Squeeze"_op)
      TryMove(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
