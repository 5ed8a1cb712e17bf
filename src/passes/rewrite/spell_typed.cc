#include "passes/rewrite/spell_typed.h"

#include <limits>
#include <string>

#include "ops/reduce/op.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }
/// What is cast to and from f32 by loops of its own.
bool IsWide(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kU32 ||
         dtype == DType::kI64 || dtype == DType::kU64;
}

void SpellCast(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const DType from = editor.value(node.inputs[0]).dtype, to = editor.value(node.outputs[0]).dtype;
  if (!(IsHalf(from) && IsWide(to)) && !(IsWide(from) && IsHalf(to))) return;
  const ir::ValueId floats =
      editor.Add(node, "Cast"_op, {node.inputs[0]}, {{"to", std::string("f32")}});
  editor.CopyType(node.inputs[0], floats);
  editor.graph().value(floats).dtype = DType::kF32;
  editor.Replace(id, "Cast"_op, {floats}, node.attributes);
}

void SpellPow(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::ValueId x = node.inputs[0];
  const ir::Value& power = editor.value(node.inputs[1]);
  const DType dtype = editor.value(x).dtype;
  if (dtype != DType::kF64 && !(IsInteger(dtype) && IsInteger(power.dtype))) return;
  if (!power.is_constant() || power.constant->elements() != 1 || power.constant->shape().rank() > 0)
    return;
  const double exponent = power.constant->GetDouble(0);
  if (exponent != 2 && exponent != 3) return;
  ir::ValueId factor = x;
  if (exponent == 3) {
    factor = editor.Add(node, "Mul"_op, {x, x});
    editor.CopyType(x, factor);
  }
  editor.Replace(id, "Mul"_op, {factor, x});
}

/// Kernels of integers have both bounds.
void SpellClip(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  if (!IsInteger(editor.value(node.inputs[0]).dtype)) return;
  const ir::ValueId low = node.input(1), high = node.input(2);
  if (low != ir::kAbsent && high != ir::kAbsent) return;
  if (low != ir::kAbsent)
    editor.Replace(id, "Max"_op, {node.inputs[0], low});
  else if (high != ir::kAbsent)
    editor.Replace(id, "Min"_op, {node.inputs[0], high});
  else
    editor.Replace(id, "Identity"_op, {node.inputs[0]});
}

/// A reduction's operand, and the shape of what keeps its axes.
struct Reduction {
  Dims x, kept;
  ops::AxisMask mask;
};
Result<bool> ReadReduction(const Editor& editor, const ir::Node& node, Reduction& read) {
  const ir::Value& x = editor.value(node.inputs[0]);
  std::vector<int64_t> axes;
  if (node.input(1) != ir::kAbsent) {
    const auto given = IntsOf(editor.graph(), node.inputs[1]);
    if (!given) return false;
    axes = *given;
  }
  if (!x.has_concrete_shape() || x.shape->elements() == 0) return false;
  ASSIGN_OR_RETURN(read.mask, ops::ReduceAxes(node, x.shape->rank(), axes));
  read.x = x.shape->dims();
  read.kept = ops::ReducedShape(*x.shape, read.mask, true).dims();
  return true;
}

ir::ValueId Reduce(TypedNodes& nodes, ir::OpRef op, ir::ValueId x, const Reduction& read) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < read.mask.size(); ++i) {
    if (read.mask[i]) axes.push_back(static_cast<int64_t>(i));
  }
  const DType dtype = nodes.editor().value(x).dtype;
  if (axes.empty()) return x;
  return nodes.AddOf(dtype, op, {x, nodes.Ints(axes)}, read.kept, {{"keepdims", int64_t{1}}});
}

/// Axes that are reduced, as lists of those that are neighbours in memory.
std::vector<ops::AxisMask> RunsOf(const Reduction& read) {
  std::vector<ops::AxisMask> runs;
  bool is_apart = true;
  for (size_t i = 0; i < read.mask.size(); ++i) {
    if (read.x[i] == 1) continue;
    if (read.mask[i] && is_apart) runs.emplace_back(read.mask.size());
    if (read.mask[i]) runs.back()[i] = true;
    is_apart = !read.mask[i];
  }
  return runs;
}

/// Rows are reduced that lie together: with other axes between them, one run after the other, the
/// last one first.
Status SpellApart(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  if (editor.value(node.inputs[0]).dtype != DType::kF32) return OkStatus();
  Reduction read;
  ASSIGN_OR_RETURN(const bool known, ReadReduction(editor, node, read));
  const std::vector<ops::AxisMask> runs = known ? RunsOf(read) : std::vector<ops::AxisMask>();
  if (runs.size() < 2) return OkStatus();
  TypedNodes nodes(editor, node, DType::kF32);
  const Shape result = *editor.value(node.outputs[0]).shape;
  ir::ValueId x = node.inputs[0];
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    read.mask = *run;
    read.kept = ops::ReducedShape(Shape(read.x), read.mask, true).dims();
    x = Reduce(nodes, node.op, x, read);
    read.x = read.kept;
  }
  editor.Replace(id, "Reshape"_op, {x, nodes.Ints(result.dims())});
  return OkStatus();
}

bool IsSplit(ir::OpRef op) {
  return op == "ReduceMean"_op || op == "ReduceSum"_op || op == "ReduceMax"_op ||
         op == "ReduceMin"_op;
}

Status SpellLogSumExp(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const DType dtype = editor.value(node.inputs[0]).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF16) return OkStatus();
  Reduction read;
  ASSIGN_OR_RETURN(const bool known, ReadReduction(editor, node, read));
  if (!known) return OkStatus();
  TypedNodes nodes(editor, node, dtype);
  const Shape result = *editor.value(node.outputs[0]).shape;
  const ir::ValueId x = node.inputs[0];
  // An infinite maximum is bounded, so that no infinities are subtracted.
  const double most = dtype == DType::kF16 ? 65504 : std::numeric_limits<float>::max();
  ASSIGN_OR_RETURN(const ir::ValueId low, nodes.Number(-most));
  ASSIGN_OR_RETURN(const ir::ValueId high, nodes.Number(most));
  const ir::ValueId max =
      nodes.Add("Clip"_op, {Reduce(nodes, "ReduceMax"_op, x, read), low, high}, read.kept);
  const ir::ValueId powers = nodes.Add("Exp"_op, {nodes.Add("Sub"_op, {x, max}, read.x)}, read.x);
  const ir::ValueId sum = Reduce(nodes, "ReduceSum"_op, powers, read);
  const ir::ValueId y =
      nodes.Add("Add"_op, {nodes.Add("Log"_op, {sum}, read.kept), max}, read.kept);
  editor.Replace(id, "Reshape"_op, {y, nodes.Ints(result.dims())});
  return OkStatus();
}

}  // namespace

Result<bool> SpellTyped(ir::Graph& graph) {
  if (!HasOp(graph, {"Cast"_op, "Clip"_op, "Pow"_op, "ReduceLogSumExp"_op, "ReduceMax"_op,
                     "ReduceMean"_op, "ReduceMin"_op, "ReduceSum"_op}))
    return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead) continue;
    const ir::OpRef op = editor.node(id).op;
    if (op == "Cast"_op) SpellCast(editor, id);
    if (op == "Clip"_op) SpellClip(editor, id);
    if (op == "Pow"_op) SpellPow(editor, id);
    if (IsSplit(op)) RETURN_IF_ERROR(SpellApart(editor, id));
    if (op == "ReduceLogSumExp"_op) RETURN_IF_ERROR(SpellLogSumExp(editor, id));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
