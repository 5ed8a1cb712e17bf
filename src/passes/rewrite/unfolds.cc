#include "passes/rewrite/unfolds.h"

#include <algorithm>
#include <numeric>

#include "passes/edit/constants.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

/// Axes of indices that count out [first, first + elements): `order` names them from the one with
/// the longest steps on.
struct Counted {
  int64_t first = 0;
  std::vector<int64_t> order;
};

/// The step of the indices along each of their axes of `counts`; 0 where an axis has one element.
std::vector<int64_t> StepsOf(const std::vector<int64_t>& indices, const Shape& counts) {
  std::vector<int64_t> steps;
  for (int axis = 0; axis < counts.rank(); ++axis) {
    const int64_t next = counts.Count(axis + 1, counts.rank());
    steps.push_back(counts[axis] > 1 ? indices[next] - indices[0] : 0);
  }
  return steps;
}

/// Whether each of the indices is the first and a number of steps along each axis.
bool AreEven(const std::vector<int64_t>& indices, const Shape& counts,
             const std::vector<int64_t>& steps) {
  for (int64_t i = 0; i < std::ssize(indices); ++i) {
    int64_t wanted = indices[0], rest = i;
    for (int axis = counts.rank(); axis-- > 0; rest /= counts[axis])
      wanted += rest % counts[axis] * steps[axis];
    if (indices[i] != wanted) return false;
  }
  return true;
}

/// Nothing where indices count otherwise, or leave an axis of `extent`.
std::optional<Counted> ReadCounted(std::vector<int64_t> indices, const Shape& counts,
                                   int64_t extent) {
  for (int64_t& index : indices) {
    if (index < 0) index += extent;
    if (index < 0 || index >= extent) return std::nullopt;
  }
  const std::vector<int64_t> steps = StepsOf(indices, counts);
  if (!AreEven(indices, counts, steps)) return std::nullopt;
  Counted counted{.first = indices[0], .order = std::vector<int64_t>(counts.rank())};
  std::iota(counted.order.begin(), counted.order.end(), 0);
  std::stable_sort(counted.order.begin(), counted.order.end(),
                   [&](int64_t a, int64_t b) { return steps[a] > steps[b]; });
  int64_t wanted = 1;
  for (auto axis = counted.order.rbegin(); axis != counted.order.rend(); ++axis) {
    if (steps[*axis] == 0 && counts[static_cast<int>(*axis)] == 1) continue;
    if (steps[*axis] != wanted) return std::nullopt;
    wanted *= counts[static_cast<int>(*axis)];
  }
  return counted;
}

/// The perm that puts axes from `order` (places in it are axes behind a reshape) back in their own.
std::vector<int64_t> Inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  return inverse;
}

void UnfoldGather(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::Value &x = editor.value(node.inputs[0]), &y = editor.value(node.outputs[0]);
  const auto indices = IntsOf(editor.graph(), node.inputs[1]);
  if (!indices || indices->size() < 2 || !x.has_concrete_shape() || !y.has_concrete_shape()) return;
  const Shape data = *x.shape, counts = *editor.value(node.inputs[1]).shape;
  const auto axis = NormaliseAxis(node.attributes.Int("axis", 0), data.rank());
  if (!axis || counts.rank() < 2) return;
  const auto counted = ReadCounted(*indices, counts, data[*axis]);
  if (!counted) return;
  TypedNodes nodes(editor, node, x.dtype);
  ir::ValueId range = node.inputs[0];
  Dims dims = data.dims();
  if (counts.elements() != data[*axis]) {
    dims[*axis] = counts.elements();
    range = nodes.Add("Slice"_op,
                      {range, nodes.Ints({counted->first}),
                       nodes.Ints({counted->first + counts.elements()}), nodes.Ints({*axis})},
                      dims);
  }
  Dims cut(dims.begin(), dims.begin() + *axis);
  std::vector<int64_t> order(*axis);
  std::iota(order.begin(), order.end(), 0);
  for (const int64_t of : counted->order) {
    cut.push_back(counts[static_cast<int>(of)]);
    order.push_back(*axis + of);
  }
  cut.insert(cut.end(), dims.begin() + *axis + 1, dims.end());
  while (order.size() < cut.size()) order.push_back(std::ssize(order));
  if (std::is_sorted(order.begin(), order.end())) {
    editor.Replace(id, "Reshape"_op, {range, nodes.Ints(cut)});
    return;
  }
  const ir::ValueId reshaped = nodes.Reshape(range, cut);
  editor.Replace(id, "Transpose"_op, {reshaped}, {{"perm", Inverse(order)}});
}

bool AllAre(const std::vector<int64_t>& values, int64_t wanted) {
  return std::ranges::all_of(values, [=](int64_t value) { return value == wanted; });
}

void TryCol2Im(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::Value &x = editor.value(node.inputs[0]), &y = editor.value(node.outputs[0]);
  const auto block = IntsOf(editor.graph(), node.inputs[2]);
  if (!block || !x.has_concrete_shape() || !y.has_concrete_shape() || y.shape->elements() == 0)
    return;
  const Shape image = *y.shape;
  const ir::Attributes& attributes = node.attributes;
  if (std::ssize(*block) != image.rank() - 2 || attributes.Ints("strides") != *block ||
      !AllAre(attributes.Ints("dilations"), 1) || !AllAre(attributes.Ints("pads"), 0))
    return;
  Dims columns = {image[0], image[1]};
  Dims between = columns;
  std::vector<int64_t> perm = {0, 1};
  const int64_t axes = std::ssize(*block);
  for (int64_t axis = 0; axis < axes; ++axis) {
    const int64_t extent = image[static_cast<int>(axis) + 2], window = (*block)[axis];
    if (window <= 0 || extent % window != 0) return;
    columns.insert(columns.begin() + 2 + axis, window);
    columns.push_back(extent / window);
    between.push_back(extent / window);
    between.push_back(window);
    perm.push_back(2 + axes + axis);
    perm.push_back(2 + axis);
  }
  TypedNodes nodes(editor, node, x.dtype);
  const ir::ValueId windows =
      nodes.Transpose(nodes.Reshape(node.inputs[0], columns), between, perm);
  editor.Replace(id, "Reshape"_op, {windows, nodes.Ints(image.dims())});
}

/// Elements as they follow each other: runs of `extent` of them, `step` apart in the value that a
/// row of moves starts from.
struct Run {
  int64_t extent = 1, step = 1;
};

/// Cuts runs to those of each axis of `dims`, in order; nothing where they do not fit.
std::optional<std::vector<std::vector<Run>>> RunsOfAxes(std::vector<Run> runs, const Shape& dims) {
  std::vector<std::vector<Run>> of(dims.rank());
  std::reverse(runs.begin(), runs.end());
  for (int axis = dims.rank(); axis-- > 0;) {
    // From the last on: what is left of a run belongs to the axes before.
    size_t at = 0;
    int64_t left = dims[axis];
    while (left > 1) {
      if (at == runs.size()) return std::nullopt;
      Run& run = runs[at];
      const int64_t part = std::gcd(left, run.extent);
      if (part != left && part != run.extent) return std::nullopt;
      of[axis].insert(of[axis].begin(), {part, run.step});
      left /= part;
      run = {run.extent / part, run.step * part};
      if (run.extent == 1) ++at;
    }
    runs.erase(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return of;
}

/// The runs of what a Transpose makes; nothing where they are not known.
std::optional<std::vector<Run>> Transposed(const Editor& editor, const ir::Node& node,
                                           const std::vector<Run>& runs) {
  const ir::Value& x = editor.value(node.inputs[0]);
  const std::vector<int64_t> perm = node.attributes.Ints("perm");
  if (!x.has_concrete_shape() || std::ssize(perm) != x.shape->rank()) return std::nullopt;
  const auto axes = RunsOfAxes(runs, *x.shape);
  if (!axes) return std::nullopt;
  std::vector<Run> moved;
  for (const int64_t axis : perm)
    moved.insert(moved.end(), (*axes)[axis].begin(), (*axes)[axis].end());
  return moved;
}

bool IsInOrder(const std::vector<Run>& runs) {
  int64_t step = 1;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->step != step) return false;
    step *= run->extent;
  }
  return true;
}

/// Whether the Transposes in `moves`, the last first, put all elements of what the first one reads
/// back in their order.
bool Cancel(const Editor& editor, const std::vector<ir::NodeId>& moves) {
  const ir::Value& start = editor.value(editor.node(moves.back()).inputs[0]);
  if (!start.has_concrete_shape() || start.shape->elements() == 0) return false;
  std::vector<Run> runs = {{start.shape->elements(), 1}};
  for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
    auto moved = Transposed(editor, editor.node(*move), runs);
    if (!moved) return false;
    runs = *std::move(moved);
  }
  return IsInOrder(runs);
}

void TryCancel(Editor& editor, ir::NodeId id) {
  constexpr size_t kMostMoves = 16;
  const ir::Value& y = editor.value(editor.node(id).outputs[0]);
  if (!y.has_concrete_shape()) return;
  std::vector<ir::NodeId> moves = {id};
  ir::ValueId value = editor.node(id).inputs[0];
  while (moves.size() < kMostMoves) {
    const ir::NodeId before = editor.ProducerId(value);
    if (before < 0 || editor.node(before).outputs.size() != 1) return;
    const ir::Node& node = editor.node(before);
    const ir::ValueId read = node.inputs[0];
    if (node.op == "Transpose"_op) {
      moves.push_back(before);
      if (Cancel(editor, moves)) {
        const ir::ValueId shape = editor.AddConstant(IntsConstant(y.shape->dims()));
        editor.Replace(id, "Reshape"_op, {read, shape});
        return;
      }
    } else if (!node.op->Has(ir::Trait::kKeepsBytes)) {
      return;
    }
    value = read;
  }
}

}  // namespace

Result<bool> UnfoldsToTransposes(ir::Graph& graph) {
  if (!HasOp(graph, {"Gather"_op, "Col2Im"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead) continue;
    if (editor.node(id).op == "Gather"_op) UnfoldGather(editor, id);
    if (editor.node(id).op == "Col2Im"_op) TryCol2Im(editor, id);
  }
  return editor.Finish();
}

Result<bool> CancelMoves(ir::Graph& graph) {
  if (!HasOp(graph, {"Transpose"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "Transpose"_op) TryCancel(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
