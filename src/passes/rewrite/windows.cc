#include "passes/rewrite/windows.h"

#include <algorithm>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// The first element of the window that a Slice takes; nothing unless it is one run of elements.
std::optional<int64_t> WindowBegin(const Editor& editor, const ir::Node& slice) {
  const ir::Value &x = editor.value(slice.inputs[0]), &y = editor.value(slice.outputs[0]);
  const auto starts = IntsOf(editor.graph(), slice.input(1));
  const auto axes = IntsOf(editor.graph(), slice.input(3));
  const auto steps = IntsOf(editor.graph(), slice.input(4));
  if (!x.has_concrete_shape() || !y.has_concrete_shape() || !starts || !axes || !steps ||
      starts->size() != 1 || axes->size() != 1 || *steps != std::vector<int64_t>{1}) {
    return std::nullopt;
  }
  const auto axis = NormaliseAxis((*axes)[0], x.shape->rank());
  if (!axis || x.shape->Count(0, *axis) != 1) return std::nullopt;
  const int64_t extent = (*x.shape)[*axis];
  const int64_t start = (*starts)[0] < 0 ? (*starts)[0] + extent : (*starts)[0];
  if (start < 0 || start + (*y.shape)[*axis] > extent) return std::nullopt;
  return start * x.shape->Count(*axis + 1, x.shape->rank());
}

/// The axis along which `part` is a window of `whole` that is one run of elements, or -1.
int WindowAxis(const Shape& whole, const Shape& part) {
  if (whole.rank() != part.rank()) return -1;
  int axis = -1;
  for (int i = 0; i < whole.rank(); ++i) {
    if (whole[i] == part[i]) continue;
    if (axis >= 0) return -1;
    axis = i;
  }
  return axis >= 0 && whole.Count(0, axis) == 1 ? axis : -1;
}

void MergeWindow(Editor& editor, ir::NodeId id) {
  const ir::Node& last = editor.node(id);
  const ir::Node* slice = editor.Producer(last.inputs[0], "Slice"_op);
  if (slice == nullptr) return;
  const ir::Node* first = editor.Producer(slice->inputs[0], "Reshape"_op);
  if (first == nullptr) return;
  const ir::ValueId x = first->inputs[0];
  const ir::Value &whole = editor.value(x), &part = editor.value(last.outputs[0]);
  if (!whole.has_concrete_shape() || !part.has_concrete_shape() || part.shape->elements() == 0)
    return;
  const int axis = WindowAxis(*whole.shape, *part.shape);
  const std::optional<int64_t> begin = WindowBegin(editor, *slice);
  if (axis < 0 || !begin) return;
  const int64_t inner = whole.shape->Count(axis + 1, whole.shape->rank());
  if (*begin % inner != 0) return;
  const int64_t start = *begin / inner, end = start + (*part.shape)[axis];
  const auto ints = [&](int64_t value) { return editor.AddConstant(IntsConstant({value})); };
  const std::vector<ir::ValueId> operands = {x, ints(start), ints(end), ints(axis), ints(1)};
  editor.Replace(id, "Slice"_op, operands);
}

}  // namespace

Result<bool> MergeWindows(ir::Graph& graph) {
  if (!HasOp(graph, {"Slice"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "Reshape"_op) MergeWindow(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
