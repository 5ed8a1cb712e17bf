#include "passes/rewrite/gather_slices.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// The step between neighbours of `indices`; nothing where it varies or is 0.
std::optional<int64_t> ReadStep(const std::vector<int64_t>& indices) {
  if (indices.size() == 1) return 1;
  const int64_t step = indices[1] - indices[0];
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] - indices[i - 1] != step) return std::nullopt;
  }
  if (step == 0) return std::nullopt;
  return step;
}

void TrySlice(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::Value &x = editor.value(node.inputs[0]), &y = editor.value(node.outputs[0]);
  auto indices = IntsOf(editor.graph(), node.inputs[1]);
  if (!indices || indices->empty() || !x.has_concrete_shape() || !y.has_concrete_shape()) return;
  const int rank = editor.value(node.inputs[1]).shape->rank();
  const auto axis = NormaliseAxis(node.attributes.Int("axis", 0), x.shape->rank());
  if (!axis || (rank > 1 && indices->size() > 1) || y.shape->elements() == 0) return;
  const int64_t extent = (*x.shape)[*axis];
  for (int64_t& index : *indices) {
    if (index < 0) index += extent;
    if (index < 0 || index >= extent) return;
  }
  const auto step = ReadStep(*indices);
  // One index of a later axis costs a copy either way, but for an axis of one element.
  const bool is_view = x.shape->Count(0, *axis) == 1 || extent == 1;
  if (!step || (rank != 1 && !is_view)) return;
  int64_t end = indices->back() + (*step > 0 ? 1 : -1);
  if (end < 0) end = std::numeric_limits<int64_t>::min();
  const auto ints = [&](int64_t value) { return editor.AddConstant(IntsConstant({value})); };
  const Dims dims = y.shape->dims();
  const std::vector<ir::ValueId> operands = {node.inputs[0], ints(indices->front()), ints(end),
                                             ints(*axis), ints(*step)};
  if (rank == 1) {
    editor.Replace(id, "Slice"_op, operands);
    return;
  }
  Dims sliced = editor.value(node.inputs[0]).shape->dims();
  sliced[*axis] = 1;
  const ir::ValueId window = editor.Add(node, "Slice"_op, operands);
  editor.SetType(window, editor.value(node.inputs[0]).dtype, Shape(sliced));
  const ir::ValueId shape = editor.AddConstant(IntsConstant(dims));
  editor.Replace(id, "Reshape"_op, {window, shape});
}

constexpr size_t kManySelects = 8;

/// The axis over which a Gather of one constant scalar index copies; nothing for others.
std::optional<int> SelectedAxis(const Editor& editor, ir::NodeId id) {
  const ir::Node& node = editor.node(id);
  if (node.dead || node.op != "Gather"_op) return std::nullopt;
  const ir::Value &x = editor.value(node.inputs[0]), &index = editor.value(node.inputs[1]);
  if (!x.has_concrete_shape() || x.is_constant() || !index.is_constant() ||
      index.shape->rank() != 0 || !editor.value(node.outputs[0]).has_concrete_shape())
    return std::nullopt;
  const auto axis = NormaliseAxis(node.attributes.Int("axis", 0), x.shape->rank());
  return axis && x.shape->Count(0, *axis) > 1 ? axis : std::nullopt;
}

void TransposeBefore(Editor& editor, int axis, const std::vector<ir::NodeId>& selects) {
  const ir::Node first = editor.node(selects.front());
  const ir::ValueId x = first.inputs[0];
  const Shape shape = *editor.value(x).shape;
  std::vector<int64_t> perm = {axis};
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) perm.push_back(i);
  }
  Dims dims;
  for (const int64_t i : perm) dims.push_back(shape[static_cast<int>(i)]);
  const ir::ValueId steps = editor.Add(first, "Transpose"_op, {x}, {{"perm", perm}});
  editor.SetType(steps, editor.value(x).dtype, Shape(dims));
  for (const ir::NodeId id : selects) {
    editor.SetInput(id, 0, steps);
    editor.SetAttribute(id, "axis", int64_t{0});
  }
}

}  // namespace

Result<bool> TransposeBeforeSelects(ir::Graph& graph) {
  if (!HasOp(graph, {"Gather"_op})) return false;
  Editor editor(graph);
  std::map<std::pair<ir::ValueId, int>, std::vector<ir::NodeId>> of;
  for (ir::NodeId id = 0; id < editor.end(); ++id) {
    if (const std::optional<int> axis = SelectedAxis(editor, id))
      of[{editor.node(id).inputs[0], *axis}].push_back(id);
  }
  for (const auto& [key, selects] : of) {
    const int64_t extent = (*editor.value(key.first).shape)[key.second];
    if (selects.size() >= kManySelects && 2 * std::ssize(selects) >= extent)
      TransposeBefore(editor, key.second, selects);
  }
  return editor.Finish();
}

Result<bool> GatherToSlice(ir::Graph& graph) {
  if (!HasOp(graph, {"Gather"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "Gather"_op) TrySlice(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
