#include "passes/quantise/constants_in_floats.h"

#include <algorithm>

#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// Larger ones would cost more memory than the arithmetic is worth.
constexpr int64_t kMostElements = int64_t{1} << 20;

bool ReadsFloats(const ir::Node& node) {
  return node.op->Has(ir::Trait::kElementwise) || node.op->Has(ir::Trait::kPointwise) ||
         node.op->Has(ir::Trait::kNormalises);
}

/// The result of a node whose operands are constants; nothing where the oracle refuses.
Result<std::optional<Constant>> Fold(const ir::Graph& graph, const ir::Node& node) {
  std::vector<Tensor> operands;
  for (ir::ValueId id : node.inputs) {
    operands.emplace_back();
    if (id == ir::kAbsent) continue;
    if (!graph.value(id).is_constant()) return std::optional<Constant>();
    ASSIGN_OR_RETURN(operands.back(), graph.value(id).constant->ToTensor());
  }
  const Result<std::vector<Tensor>> results = ops::Evaluate(node, operands);
  if (!results.ok()) return std::optional<Constant>();
  return std::optional<Constant>(Constant::FromTensor((*results)[0]));
}

}  // namespace

Result<bool> DequantiseConstants(ir::Graph& graph) {
  if (!HasOp(graph, {"DequantizeLinear"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node node = editor.node(id);
    if (node.dead || node.op != "DequantizeLinear"_op) continue;
    const ir::Value& stored = editor.value(node.inputs[0]);
    if (!stored.is_constant() || stored.constant->elements() > kMostElements) continue;
    std::vector<ir::NodeId> readers = editor.Readers(node.outputs[0]);
    std::erase_if(readers, [&](ir::NodeId at) { return !ReadsFloats(editor.node(at)); });
    if (readers.empty()) continue;
    ASSIGN_OR_RETURN(std::optional<Constant> floats, Fold(graph, node));
    if (!floats) continue;
    const ir::ValueId folded = editor.AddConstant(*std::move(floats));
    for (ir::NodeId reader : readers) {
      for (size_t i = 0; i < editor.node(reader).inputs.size(); ++i) {
        if (editor.node(reader).inputs[i] == node.outputs[0]) editor.SetInput(reader, i, folded);
      }
    }
  }
  return editor.Finish();
}

}  // namespace fettle::passes
