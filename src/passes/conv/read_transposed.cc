#include "passes/conv/read_transposed.h"

#include <optional>
#include <utility>

namespace fettle::passes {
namespace {

std::optional<Transposed> ReadTransposed(const Editor& editor, const ir::Node& node) {
  const ir::Value &x = editor.value(node.inputs[0]), &w = editor.value(node.inputs[1]);
  if (!x.has_concrete_shape() || !w.has_concrete_shape()) return std::nullopt;
  if (w.shape->rank() < 3 || w.shape->elements() == 0) return std::nullopt;
  auto conv = ops::ReadConvTranspose(node, *x.shape, *w.shape);
  if (!conv.ok()) return std::nullopt;
  const bool is_constant = ConstantOf(editor.graph(), node.inputs[1]) != nullptr;
  return Transposed{*std::move(conv), *x.shape, *w.shape, is_constant};
}

}  // namespace

Result<bool> RewriteTransposed(ir::Graph& graph, const RewriteOfTransposed& rewrite) {
  if (!HasOp(graph, {"ConvTranspose"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead || editor.node(id).op != "ConvTranspose"_op) continue;
    if (const auto of = ReadTransposed(editor, editor.node(id))) rewrite(editor, id, *of);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
