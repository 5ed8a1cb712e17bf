#include "passes/rewrite/transposes.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// How far two transposes may be apart.
constexpr int kMaxBetween = 32;

std::optional<std::vector<int64_t>> ReadPerm(const Editor& editor, const ir::Node& node) {
  std::vector<int64_t> perm = node.attributes.Ints("perm");
  if (perm.empty()) {
    const auto& shape = editor.value(node.inputs[0]).shape;
    if (!shape) return std::nullopt;
    for (int axis = shape->rank() - 1; axis >= 0; --axis) perm.push_back(axis);
  }
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return std::nullopt;
  }
  return perm;
}

/// The permutation that applies `first`, then `second`.
std::optional<std::vector<int64_t>> Composed(const Editor& editor, const ir::Node& first,
                                             const ir::Node& second) {
  const auto p = ReadPerm(editor, first), q = ReadPerm(editor, second);
  if (!p || !q || p->size() != q->size()) return std::nullopt;
  std::vector<int64_t> composed;
  for (int64_t axis : *q) composed.push_back((*p)[axis]);
  return composed;
}

/// The operand of an element-wise node whose others are single numbers; kAbsent where there is none
/// such.
ir::ValueId OnlyOperand(const Editor& editor, const ir::Node& node) {
  if (!node.op->Has(ir::Trait::kElementwise) || node.outputs.size() != 1) return ir::kAbsent;
  ir::ValueId operand = ir::kAbsent;
  for (ir::ValueId input : node.inputs) {
    if (input == ir::kAbsent) continue;
    const Constant* constant = ConstantOf(editor.graph(), input);
    if (constant != nullptr && constant->shape().rank() == 0) continue;
    if (constant != nullptr || operand != ir::kAbsent) return ir::kAbsent;
    operand = input;
  }
  return operand;
}

/// Lets the operators between two transposes that cancel work on the untransposed value.
bool CancelThroughChain(Editor& editor, ir::NodeId second) {
  const ir::ValueId end = editor.node(second).inputs[0];
  std::vector<ir::ValueId> between;
  ir::ValueId value = end;
  for (int i = 0; i < kMaxBetween; ++i) {
    const ir::Node* node = editor.Producer(value);
    if (node == nullptr) return false;
    if (node->op == "Transpose"_op) {
      const auto composed = Composed(editor, *node, editor.node(second));
      if (between.empty() || !composed || !std::is_sorted(composed->begin(), composed->end()))
        return false;
      break;
    }
    const ir::ValueId operand = OnlyOperand(editor, *node);
    if (!editor.HasOneUse(value) || operand == ir::kAbsent) return false;
    between.push_back(value);
    value = operand;
  }
  const ir::Node* first = editor.Producer(value, "Transpose"_op);
  if (first == nullptr) return false;
  const ir::ValueId x = first->inputs[0];
  const ir::NodeId start = editor.ProducerId(between.back());
  for (ir::ValueId changed : between) editor.ForgetShape(changed);
  const auto& inputs = editor.node(start).inputs;
  const size_t at = std::find(inputs.begin(), inputs.end(), value) - inputs.begin();
  if (editor.Bypass(second, end) != ir::kAbsent) {
    editor.SetInput(start, at, x);
    return true;
  }
  return false;
}

bool MergePair(Editor& editor, ir::NodeId id) {
  const ir::Node& node = editor.node(id);
  const ir::Node* before = editor.Producer(node.inputs[0], "Transpose"_op);
  if (before == nullptr) return CancelThroughChain(editor, id);
  const auto composed = Composed(editor, *before, node);
  if (!composed) return false;
  const ir::ValueId x = before->inputs[0];
  if (std::is_sorted(composed->begin(), composed->end()) && editor.Bypass(id, x) != ir::kAbsent)
    return true;
  editor.Replace(id, "Transpose"_op, {x}, {{"perm", *composed}});
  return true;
}

/// A transpose that keeps the order of all axes over 1 moves no element.
void TryReshape(Editor& editor, ir::NodeId id) {
  const ir::Node& node = editor.node(id);
  const ir::Value &x = editor.value(node.inputs[0]), &y = editor.value(node.outputs[0]);
  const auto perm = ReadPerm(editor, node);
  if (!perm || !x.has_concrete_shape() || !y.has_concrete_shape() ||
      static_cast<int>(perm->size()) != x.shape->rank() || x.shape->elements() == 0) {
    return;
  }
  int64_t last = -1;
  for (int64_t axis : *perm) {
    if ((*x.shape)[static_cast<int>(axis)] == 1) continue;
    if (axis < last) return;
    last = axis;
  }
  const ir::ValueId operand = node.inputs[0];
  const ir::ValueId shape = editor.AddConstant(IntsConstant(y.shape->dims()));
  editor.Replace(id, "Reshape"_op, {operand, shape});
}

}  // namespace

Result<bool> MergeTransposes(ir::Graph& graph) {
  if (!HasOp(graph, {"Transpose"_op})) return false;
  Editor editor(graph);
  // New nodes come at the end and are visited too: chains of any length merge.
  for (ir::NodeId id = 0; id < editor.end(); ++id) {
    if (editor.node(id).dead || editor.node(id).op != "Transpose"_op) continue;
    if (!MergePair(editor, id)) TryReshape(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
