#include "passes/find/turned_scores.h"

#include <numeric>
#include <utility>
#include <vector>

#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

/// All axes in order, but the last two exchanged.
std::vector<int64_t> TurnLast(int rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}

/// `dims` with the last two exchanged.
Dims Turned(Dims dims) {
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

/// The scores behind `turned`, which they are the transpose of; kAbsent where they are none.
ir::ValueId ScoresOf(const Editor& editor, ir::ValueId turned) {
  const ir::Node* transpose = editor.Producer(turned, "Transpose"_op);
  if (transpose == nullptr || !editor.HasOneUse(turned)) return ir::kAbsent;
  const ir::ValueId scores = transpose->inputs[0];
  const ir::Node* softmax = editor.Producer(scores, "Softmax"_op);
  if (softmax == nullptr || !editor.HasOneUse(scores) || !editor.value(scores).has_concrete_shape())
    return ir::kAbsent;
  const int rank = editor.value(scores).shape->rank();
  const int64_t axis = softmax->attributes.Int("axis", -1);
  const bool is_last = axis == -1 || axis == rank - 1;
  if (rank < 2 || !is_last || transpose->attributes.Ints("perm") != TurnLast(rank))
    return ir::kAbsent;
  return scores;
}

void TryTurn(Editor& editor, ir::NodeId id) {
  const ir::Node product = editor.node(id);
  const ir::Value &values = editor.value(product.inputs[0]), &y = editor.value(product.outputs[0]);
  const ir::ValueId scores = ScoresOf(editor, product.inputs[1]);
  if (scores == ir::kAbsent || !values.has_concrete_shape() || !y.has_concrete_shape()) return;
  if (values.shape->rank() < 2 || values.is_constant()) return;
  const Shape of_scores = *editor.value(scores).shape, of_y = *y.shape;
  if (of_scores.elements() <= values.shape->elements() + of_y.elements()) return;
  TypedNodes nodes(editor, product, y.dtype);
  const Dims tokens = Turned(values.shape->dims());
  const ir::ValueId turned =
      nodes.Transpose(product.inputs[0], tokens, TurnLast(values.shape->rank()));
  const ir::ValueId result = nodes.Add("MatMul"_op, {scores, turned}, Turned(of_y.dims()));
  editor.Replace(id, "Transpose"_op, {result}, {{"perm", TurnLast(of_y.rank())}});
}

}  // namespace

Result<bool> FindTurnedScores(ir::Graph& graph) {
  if (!HasOp(graph, {"Softmax"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "MatMul"_op) TryTurn(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
