#include "passes/rewrite/scores_by_head.h"

#include <algorithm>

#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// Whether a Softmax reads the value, behind `steps` Adds and Reshapes at most (biases and masks).
bool ReachesSoftmax(const Editor& editor, ir::ValueId value, int steps) {
  return std::ranges::any_of(editor.Readers(value), [&](ir::NodeId reader) {
    const ir::Node& node = editor.node(reader);
    if (node.op == "Softmax"_op) return true;
    const bool passes = node.op == "Add"_op || node.op == "Reshape"_op;
    return passes && steps > 0 && ReachesSoftmax(editor, node.outputs[0], steps - 1);
  });
}

/// One factor for each matrix of `scores`, several in all.
bool IsByHead(const ir::Value& factors, const Shape& scores) {
  if (!factors.is_constant() || !factors.has_concrete_shape()) return false;
  const Shape& shape = *factors.shape;
  const int rank = shape.rank();
  return rank > 2 && rank <= scores.rank() && shape.elements() > 1 && shape[rank - 1] == 1 &&
         shape[rank - 2] == 1;
}

/// Whether the left operand has a matrix of its own for each of the scores', and fewer elements.
bool IsSmaller(const Shape& left, const Shape& scores) {
  const int rank = scores.rank();
  if (left.rank() != rank || left[rank - 1] >= scores[rank - 1]) return false;
  for (int axis = 0; axis < rank - 2; ++axis)
    if (left[axis] != scores[axis]) return false;
  return true;
}

/// The operand of `mul` that is a product's result and read by nobody else; kAbsent where none is,
/// or where the other is no constant by head.
ir::ValueId ScoresOf(const Editor& editor, const ir::Node& mul) {
  for (size_t i = 0; i < 2; ++i) {
    const ir::ValueId scores = mul.inputs[i];
    const ir::Node* product = editor.Producer(scores, "MatMul"_op);
    if (product == nullptr || !editor.HasOneUse(scores) || editor.IsOutput(scores)) continue;
    const ir::Value &left = editor.value(product->inputs[0]), &made = editor.value(scores);
    if (!left.has_concrete_shape() || !made.has_concrete_shape() || !IsFloat(made.dtype)) continue;
    if (IsByHead(editor.value(mul.inputs[1 - i]), *made.shape) &&
        IsSmaller(*left.shape, *made.shape))
      return scores;
  }
  return ir::kAbsent;
}

}  // namespace

Result<bool> ScaleQueriesByHead(ir::Graph& graph) {
  if (!HasOp(graph, {"Softmax"_op})) return false;
  Editor editor(graph);
  constexpr int kMostSteps = 4;
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node mul = editor.node(id);
    if (mul.dead || mul.op != "Mul"_op || editor.IsOutput(mul.outputs[0])) continue;
    const ir::ValueId scores = ScoresOf(editor, mul);
    if (scores == ir::kAbsent || !ReachesSoftmax(editor, mul.outputs[0], kMostSteps)) continue;
    const ir::Node product = *editor.Producer(scores);
    const ir::ValueId factors = mul.inputs[scores == mul.inputs[0] ? 1 : 0];
    const ir::ValueId queries = product.inputs[0];
    const ir::ValueId scaled = editor.Add(mul, "Mul"_op, {queries, factors});
    editor.CopyType(queries, scaled);
    editor.Replace(id, "MatMul"_op, {scaled, product.inputs[1]});
  }
  return editor.Finish();
}

}  // namespace fettle::passes
