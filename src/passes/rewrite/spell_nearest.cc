#include "passes/rewrite/spell_nearest.h"

#include <algorithm>
#include <optional>

#include "ops/resize/op.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

/// What kernels of Resize compute.
bool IsBlended(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kU8 || dtype == DType::kI8;
}

/// By axis; nothing where the node is none of these, or something is computed.
std::optional<std::vector<ops::AxisTaps>> NearestTaps(const Editor& editor, const ir::Node& node) {
  const ir::Value& x = editor.value(node.inputs[0]);
  if (node.op != "Resize"_op || IsBlended(x.dtype) || !x.has_concrete_shape() ||
      x.shape->elements() == 0)
    return std::nullopt;
  ops::ResizeOperands operands;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ir::kAbsent) continue;
    const Constant* constant = ConstantOf(editor.graph(), node.inputs[i]);
    if (constant == nullptr) return std::nullopt;
    for (int64_t k = 0; k < constant->elements(); ++k) {
      if (i == 1) operands.roi.push_back(constant->GetDouble(k));
      if (i == 2) operands.scales.push_back(constant->GetDouble(k));
      if (i == 3) operands.sizes.push_back(constant->GetInt(k));
    }
  }
  const auto resize = ops::ReadResize(node, *x.shape, operands);
  if (!resize.ok() || resize->mode != ops::ResizeMode::kNearest || resize->antialias ||
      resize->output.elements() == 0)
    return std::nullopt;
  std::vector<ops::AxisTaps> all;
  for (int axis = 0; axis < x.shape->rank(); ++axis) {
    all.push_back(ops::MakeAxisTaps(*resize, (*x.shape)[axis], axis));
    if (std::ranges::find(all.back().outside, true) != all.back().outside.end() ||
        all.back().taps != 1)
      return std::nullopt;
  }
  return all;
}

void SpellGathers(Editor& editor, ir::NodeId id, const std::vector<ops::AxisTaps>& taps) {
  const ir::Node node = editor.node(id);
  TypedNodes nodes(editor, node, editor.value(node.inputs[0]).dtype);
  ir::ValueId x = node.inputs[0];
  // The last axis first: rows that are repeated as a whole are copied by then.
  for (int axis = static_cast<int>(taps.size()); axis-- > 0;) {
    Dims dims = nodes.ShapeOf(x).dims();
    if (taps[axis].IsIdentity(dims[axis])) continue;
    dims[axis] = static_cast<int64_t>(taps[axis].index.size());
    x = nodes.Add("Gather"_op, {x, nodes.Ints(taps[axis].index)}, std::move(dims),
                  {{"axis", int64_t{axis}}});
  }
  editor.Replace(id, "Identity"_op, {x});
}

}  // namespace

Result<bool> SpellNearest(ir::Graph& graph) {
  if (!HasOp(graph, {"Resize"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead) continue;
    if (const auto taps = NearestTaps(editor, editor.node(id))) SpellGathers(editor, id, *taps);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
