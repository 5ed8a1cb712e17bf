#include "passes/rewrite/outer_products.h"

#include <algorithm>

#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// Whether one of `ops` made the value, or what it is made of by up to `steps` nodes before.
bool ComesFrom(const Editor& editor, ir::ValueId value, std::initializer_list<ir::OpRef> ops,
               int steps) {
  const ir::Node* node = editor.Producer(value);
  if (node == nullptr) return false;
  if (std::ranges::find(ops, node->op) != ops.end()) return true;
  return steps > 0 && std::ranges::any_of(node->inputs, [&](ir::ValueId input) {
           return input != ir::kAbsent && ComesFrom(editor, input, ops, steps - 1);
         });
}

bool IsOuterProduct(const Editor& editor, const ir::Node& node) {
  const ir::Value& a = editor.value(node.inputs[0]);
  const ir::Value& b = editor.value(node.inputs[1]);
  if (!a.has_concrete_shape() || !b.has_concrete_shape()) return false;
  const int rank_a = a.shape->rank(), rank_b = b.shape->rank();
  if (rank_a < 2 || rank_b < 2 || (*a.shape)[rank_a - 1] != 1) return false;
  constexpr int kNodesBehindSoftmax = 3;  // casts, masks and reshapes
  return std::ranges::none_of(node.inputs, [&](ir::ValueId input) {
    return ComesFrom(editor, input, {"DequantizeLinear"_op}, 0) ||
           ComesFrom(editor, input, {"Softmax"_op}, kNodesBehindSoftmax);
  });
}

}  // namespace

Result<bool> OuterProductsToMul(ir::Graph& graph) {
  if (!HasOp(graph, {"MatMul"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node node = editor.node(id);
    if (node.dead || node.op != "MatMul"_op || !IsOuterProduct(editor, node)) continue;
    editor.Replace(id, "Mul"_op, node.inputs);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
