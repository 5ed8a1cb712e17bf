#include "passes/rewrite/spell_norm_pools.h"

#include <algorithm>

#include "ops/pool/op.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

bool AreAll(const std::vector<int64_t>& values, int64_t value) {
  return std::ranges::all_of(values, [&](int64_t v) { return v == value; });
}

Status SpellGlobal(Editor& editor, ir::NodeId id) {
  TypedNodes nodes(editor, editor.node(id), DType::kF32);
  const ir::ValueId x = nodes.like().inputs[0];
  const int64_t p = nodes.like().attributes.Int("p", 2);
  if (p != 1 && p != 2) return OkStatus();
  std::vector<int64_t> axes;
  for (int axis = 2; axis < nodes.ShapeOf(x).rank(); ++axis) axes.push_back(axis);
  editor.Replace(id, p == 1 ? "ReduceL1"_op : "ReduceL2"_op, {x, nodes.Ints(axes)},
                 {{"keepdims", int64_t{1}}});
  return OkStatus();
}

Status SpellWindows(Editor& editor, ir::NodeId id) {
  TypedNodes nodes(editor, editor.node(id), DType::kF32);
  const ir::ValueId x = nodes.like().inputs[0];
  const Dims dims = nodes.ShapeOf(x).dims();
  const Dims y = nodes.ShapeOf(nodes.like().outputs[0]).dims();
  ASSIGN_OR_RETURN(const ops::PoolAttributes pool, ops::ReadPool(nodes.like(), Shape(dims)));
  if (pool.p < 1) return OkStatus();
  if (AreAll(pool.kernel, 1) && y == dims) {
    editor.Replace(id, "Abs"_op, {x});
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const ir::ValueId power, nodes.Number(static_cast<double>(pool.p)));
  ASSIGN_OR_RETURN(const ir::ValueId root, nodes.Number(1.0 / static_cast<double>(pool.p)));
  ir::ValueId powers =
      pool.p == 2 ? nodes.Add("Mul"_op, {x, x}, dims) : nodes.Add("Abs"_op, {x}, dims);
  if (pool.p > 2) powers = nodes.Add("Pow"_op, {powers, power}, dims);
  ir::Attributes attributes = nodes.like().attributes;
  attributes.Erase("p");
  attributes.Set("count_include_pad", int64_t{1});
  const ir::ValueId means = nodes.Add("AveragePool"_op, {powers}, y, attributes);
  double count = 1;
  for (int64_t side : pool.kernel) count *= static_cast<double>(side);
  ASSIGN_OR_RETURN(const ir::ValueId taps, nodes.Number(count));
  if (pool.p == 1) {
    editor.Replace(id, "Mul"_op, {means, taps});
    return OkStatus();
  }
  const ir::ValueId sums = nodes.Add("Mul"_op, {means, taps}, y);
  if (pool.p == 2) {
    editor.Replace(id, "Sqrt"_op, {sums});
  } else {
    editor.Replace(id, "Pow"_op, {sums, root});
  }
  return OkStatus();
}

/// Whether it is one of fp32 and of known shapes.
bool IsKnown(const Editor& editor, const ir::Node& node) {
  const ir::Value &x = editor.value(node.inputs[0]), &y = editor.value(node.outputs[0]);
  return x.dtype == DType::kF32 && x.shape && x.shape->rank() > 2 && !x.is_constant() &&
         x.has_concrete_shape() && y.has_concrete_shape() && x.shape->elements() > 0 &&
         y.shape->elements() > 0 && node.attributes.Int("ceil_mode", 0) == 0;
}

}  // namespace

Result<bool> SpellNormPools(ir::Graph& graph) {
  if (!HasOp(graph, {"LpPool"_op, "GlobalLpPool"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node& node = editor.node(id);
    if (node.dead) continue;
    if (node.op == "LpPool"_op && IsKnown(editor, node))
      RETURN_IF_ERROR(SpellWindows(editor, id));
    else if (node.op == "GlobalLpPool"_op && IsKnown(editor, node))
      RETURN_IF_ERROR(SpellGlobal(editor, id));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
