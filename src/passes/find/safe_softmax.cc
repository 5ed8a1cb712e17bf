#include "passes/find/safe_softmax.h"

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

bool IsPlainSoftmax(const ir::Node* node) {
  return node != nullptr && node->op == "Softmax"_op && node->attributes.Int("nan_to_zero", 0) == 0;
}

void TrySafe(Editor& editor, ir::NodeId id) {
  const ir::Node& select = editor.node(id);
  const ir::ValueId is_nan = select.inputs[0], zero = select.inputs[1], rows = select.inputs[2];
  const ir::Node* test = editor.Producer(is_nan, "IsNaN"_op);
  const ir::Node* softmax = editor.Producer(rows);
  if (test == nullptr || test->inputs[0] != rows || !IsPlainSoftmax(softmax)) return;
  if (!editor.HasOneUse(is_nan) || editor.IsOutput(rows) || editor.Readers(rows).size() != 2)
    return;
  // A zero of more dimensions would broadcast the rows.
  if (ScalarFor(editor.graph(), zero, rows) != 0.0) return;
  ir::Attributes attributes = softmax->attributes;
  attributes.Set("nan_to_zero", int64_t{1});
  editor.Replace(id, "Softmax"_op, {softmax->inputs[0]}, std::move(attributes));
}

}  // namespace

Result<bool> FindSafeSoftmax(ir::Graph& graph) {
  if (!HasOp(graph, {"IsNaN"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "Where"_op) TrySafe(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
