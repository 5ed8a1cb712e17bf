#include "passes/find/channel_shuffle.h"

#include <algorithm>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// A transpose that swaps two neighbouring runs of axes: [before, rows, columns, behind] becomes
/// [before, columns, rows, behind].
struct Swap {
  int64_t before = 1, rows = 1, columns = 1, behind = 1;
};

/// `shape` permuted by `perm` as a Swap, axes of extent 1 aside; nothing where it is none.
std::optional<Swap> ReadSwap(const Shape& shape, const std::vector<int64_t>& perm) {
  std::vector<int64_t> axes;  // over 1, in their new order
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= shape.rank()) return std::nullopt;
    if (shape[static_cast<int>(axis)] != 1) axes.push_back(axis);
  }
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  size_t begin = 0, end = axes.size();
  while (begin < end && axes[begin] == sorted[begin]) ++begin;
  while (end > begin && axes[end - 1] == sorted[end - 1]) --end;
  if (begin == end) return std::nullopt;
  // What is left must be a rotation: the axes of the columns, then those of the rows.
  const size_t middle = std::find(axes.begin(), axes.end(), sorted[begin]) - axes.begin();
  if (!std::is_sorted(axes.begin() + static_cast<ptrdiff_t>(begin),
                      axes.begin() + static_cast<ptrdiff_t>(middle)) ||
      !std::is_sorted(axes.begin() + static_cast<ptrdiff_t>(middle),
                      axes.begin() + static_cast<ptrdiff_t>(end)) ||
      (middle > begin && axes[end - 1] > axes[begin])) {
    return std::nullopt;
  }
  Swap swap;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t extent = shape[static_cast<int>(axes[i])];
    (i < begin    ? swap.before
     : i < middle ? swap.columns
     : i < end    ? swap.rows
                  : swap.behind) *= extent;
  }
  return swap;
}

void TryShuffle(Editor& editor, ir::NodeId id) {
  const ir::Node& last = editor.node(id);
  const ir::Node* transpose = editor.Producer(last.inputs[0], "Transpose"_op);
  if (transpose == nullptr || !editor.HasOneUse(last.inputs[0])) return;
  const ir::ValueId split = transpose->inputs[0];
  const ir::Node* first = editor.Producer(split, "Reshape"_op);
  if (first == nullptr || !editor.HasOneUse(split)) return;
  const ir::ValueId x = first->inputs[0];
  const ir::Value &input = editor.value(x), &middle = editor.value(split),
                  &output = editor.value(last.outputs[0]);
  if (!input.has_concrete_shape() || !middle.has_concrete_shape() || !output.has_concrete_shape() ||
      input.shape->rank() < 2 || input.shape->elements() == 0) {
    return;
  }
  const Shape& shape = *input.shape;
  const auto swap = ReadSwap(*middle.shape, transpose->attributes.Ints("perm"));
  if (!swap || swap->before != shape[0] || swap->rows * swap->columns != shape[1] ||
      swap->behind != shape.Count(2, shape.rank())) {
    return;
  }
  const ir::Attributes attributes = {{"groups", swap->rows}};
  if (*output.shape == shape) {
    editor.Replace(id, "ChannelShuffle"_op, {x}, attributes);
    return;
  }
  const ir::Node like = last;
  const ir::ValueId target = editor.AddConstant(IntsConstant(output.shape->dims()));
  const ir::ValueId shuffled = editor.Add(like, "ChannelShuffle"_op, {x}, attributes);
  editor.CopyType(x, shuffled);
  editor.Replace(id, "Reshape"_op, {shuffled, target});
}

}  // namespace

Result<bool> FindChannelShuffle(ir::Graph& graph) {
  if (!HasOp(graph, {"Transpose"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "Reshape"_op) TryShuffle(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
