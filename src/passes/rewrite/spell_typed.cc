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

bool IsExtreme(ir::OpRef op) { return op == "ReduceMax"_op || op == "ReduceMin"_op; }

/// Whether a reduction may be one of reductions: of floats, of extremes, and of what wraps.
bool IsSplit(ir::OpRef op, DType dtype) {
  if (IsExtreme(op)) return true;
  const bool is_sum = op == "ReduceSum"_op, is_mean = op == "ReduceMean"_op;
  if (dtype == DType::kF16) return is_sum || is_mean;
  if (dtype == DType::kI32 || dtype == DType::kI64) return is_sum || op == "ReduceProd"_op;
  return (dtype == DType::kF32 || dtype == DType::kF64) &&
         (is_sum || is_mean || op == "ReduceProd"_op || op == "ReduceL1"_op ||
          op == "ReduceL2"_op || op == "ReduceSumSquare"_op || op == "ReduceLogSum"_op);
}

/// Whether the last run and the columns behind it are enough for kernels of any axes, which fold
/// all runs at once.
bool IsWide(const Reduction& read, const ops::AxisMask& last, DType dtype) {
  constexpr int64_t kFew = 16, kMany = 64;
  int64_t columns = 1, row = 1;
  for (size_t i = last.size(); i-- > 0;) {
    if (last[i]) row *= read.x[i];
    if (!read.mask[i] && row == 1) columns *= read.x[i];
  }
  return columns > 1 && row * columns >= kMany && (dtype != DType::kF32 || columns < kFew);
}

/// What one run of several is reduced by: squares are taken once, and
/// logarithms and roots of all alone.
ir::OpRef PartOf(ir::OpRef op, bool is_first, bool is_last) {
  const bool squares = op == "ReduceSumSquare"_op || op == "ReduceL2"_op;
  if (squares && is_first) return "ReduceSumSquare"_op;
  return squares || (op == "ReduceLogSum"_op && !is_last) ? "ReduceSum"_op : op;
}

/// Rows are reduced that lie together: with other axes between them, one run after the other, the
/// last one first.
Status SpellApart(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const DType dtype = editor.value(node.inputs[0]).dtype;
  if (!IsSplit(node.op, dtype)) return OkStatus();
  Reduction read;
  ASSIGN_OR_RETURN(const bool known, ReadReduction(editor, node, read));
  const std::vector<ops::AxisMask> runs = known ? RunsOf(read) : std::vector<ops::AxisMask>();
  if (runs.size() < 2 || IsWide(read, runs.back(), dtype)) return OkStatus();
  TypedNodes nodes(editor, node, dtype);
  const Shape result = *editor.value(node.outputs[0]).shape;
  ir::ValueId x = node.inputs[0];
  // Sums of some halves are no halves.
  const bool widens = dtype == DType::kF16 && !IsExtreme(node.op);
  if (widens) x = nodes.AddOf(DType::kF32, "Cast"_op, {x}, read.x, {{"to", std::string("f32")}});
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    read.mask = *run;
    read.kept = ops::ReducedShape(Shape(read.x), read.mask, true).dims();
    x = Reduce(nodes, PartOf(node.op, run == runs.rbegin(), run + 1 == runs.rend()), x, read);
    read.x = read.kept;
  }
  if (widens) x = nodes.Add("Cast"_op, {x}, read.kept, {{"to", std::string("f16")}});
  if (node.op == "ReduceL2"_op) x = nodes.Add("Sqrt"_op, {x}, read.kept);
  editor.Replace(id, "Reshape"_op, {x, nodes.Ints(result.dims())});
  return OkStatus();
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
  if (!HasOp(graph, {"Cast"_op, "Clip"_op, "Pow"_op, "ReduceL1"_op, "ReduceL2"_op,
                     "ReduceLogSum"_op, "ReduceLogSumExp"_op, "ReduceMax"_op, "ReduceMean"_op,
                     "ReduceMin"_op, "ReduceProd"_op, "ReduceSum"_op, "ReduceSumSquare"_op}))
    return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead) continue;
    const ir::OpRef op = editor.node(id).op;
    if (op == "Cast"_op) SpellCast(editor, id);
    if (op == "Clip"_op) SpellClip(editor, id);
    if (op == "Pow"_op) SpellPow(editor, id);
    if (op == "ReduceLogSumExp"_op) RETURN_IF_ERROR(SpellLogSumExp(editor, id));
    RETURN_IF_ERROR(SpellApart(editor, id));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
