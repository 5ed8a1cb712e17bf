#include "passes/rewrite/reshapes.h"

#include <algorithm>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

bool KeepsOrder(const ir::Node& node) {
  return node.op->Has(ir::Trait::kKeepsBytes) && node.op != "Identity"_op;
}

bool HasNoZero(const std::vector<int64_t>& dims) {
  return std::find(dims.begin(), dims.end(), 0) == dims.end();
}

void MergeIntoReader(Editor& editor, ir::NodeId id) {
  const ir::Node& node = editor.node(id);
  const ir::Node* before = editor.Producer(node.inputs[0]);
  if (before == nullptr || !KeepsOrder(*before) || before->outputs.size() != 1) return;
  const ir::ValueId x = before->inputs[0];
  const ir::Value& result = editor.value(node.outputs[0]);
  if (result.has_concrete_shape()) {
    if (!HasNoZero(result.shape->dims())) return;
    const ir::ValueId shape = editor.AddConstant(IntsConstant(result.shape->dims()));
    editor.Replace(id, "Reshape"_op, {x, shape});
    return;
  }
  const auto target = IntsOf(editor.graph(), node.input(1));
  if (node.op != "Reshape"_op || !target || !HasNoZero(*target)) return;
  editor.Replace(id, "Reshape"_op, {x, node.inputs[1]});
}

}  // namespace

Result<bool> MergeReshapes(ir::Graph& graph) {
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), KeepsOrder)) return false;
  Editor editor(graph);
  // In order, so that each node reads the start of the row that ends before it.
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && KeepsOrder(editor.node(id))) MergeIntoReader(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
