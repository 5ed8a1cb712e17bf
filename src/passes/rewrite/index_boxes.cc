#include "passes/rewrite/index_boxes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// [first, first + extent) of each of the data's outermost axes.
struct Box {
  Dims first, extent;
  int axes() const { return static_cast<int>(first.size()); }
  int64_t elements() const { return Shape(extent).elements(); }
};

/// Longer constants of indices are left alone: reading them would take longer than using them.
constexpr int64_t kMostIndices = int64_t{1} << 22;

/// The tuples of a constant of indices: `counts` are its extents but the last.
struct Tuples {
  Dims counts;
  int64_t length = 0;  // of a tuple
  std::vector<int64_t> values;
};

/// The tuples behind `id`, counted from the start of each axis of `data`; nothing where they are no
/// constant, or leave the data.
std::optional<Tuples> ReadTuples(const ir::Graph& graph, ir::ValueId id, const Shape& data) {
  const Constant* constant = ConstantOf(graph, id);
  if (constant == nullptr || constant->shape().rank() == 0 || constant->elements() == 0 ||
      constant->elements() > kMostIndices)
    return std::nullopt;
  Tuples tuples = {.counts = constant->shape().dims(), .length = constant->shape().dims().back()};
  tuples.counts.pop_back();
  if (tuples.length > data.rank()) return std::nullopt;
  for (int64_t i = 0; i < constant->elements(); ++i) {
    const int64_t extent = data[static_cast<int>(i % tuples.length)];
    int64_t index = constant->GetInt(i);
    if (index < 0) index += extent;
    if (index < 0 || index >= extent) return std::nullopt;
    tuples.values.push_back(index);
  }
  return tuples;
}

/// Sets the extent of axis `axis` of the tuples to 1 where all of its steps are the same tuples.
bool DropRepeats(int axis, Tuples& tuples) {
  const Shape counts(tuples.counts);
  const int64_t steps = counts[axis], outer = counts.Count(0, axis);
  const int64_t run = counts.Count(axis + 1, counts.rank()) * tuples.length;
  const auto first = tuples.values.begin();
  for (int64_t i = 0; i < outer * steps; ++i) {
    const auto wanted = first + i / steps * steps * run;
    if (!std::equal(wanted, wanted + run, first + i * run)) return false;
  }
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < outer; ++i)
    kept.insert(kept.end(), first + i * steps * run, first + (i * steps + 1) * run);
  tuples.values = std::move(kept);
  tuples.counts[axis] = 1;
  return true;
}

/// The box that the tuples count out, last axis fastest; nothing where they count otherwise.
std::optional<Box> ReadBox(const Tuples& tuples) {
  const auto first = tuples.values.begin(), last = tuples.values.end() - tuples.length;
  Box box = {.first = Dims(first, first + tuples.length),
             .extent = Dims(last, tuples.values.end())};
  for (int j = 0; j < box.axes(); ++j) {
    box.extent[j] += 1 - box.first[j];
    if (box.extent[j] < 1) return std::nullopt;
  }
  const int64_t elements = box.elements();
  if (elements * tuples.length != std::ssize(tuples.values)) return std::nullopt;
  for (int64_t i = 0; i < elements; ++i) {
    int64_t rest = i;
    for (int j = box.axes(); j-- > 0; rest /= box.extent[j]) {
      const int64_t wanted = box.first[j] + rest % box.extent[j];
      if (first[i * tuples.length + j] != wanted) return std::nullopt;
    }
  }
  return box;
}

ir::ValueId Reshaped(Editor& editor, const ir::Node& like, ir::ValueId value, const Dims& dims) {
  if (editor.value(value).shape->dims() == dims) return value;
  const ir::ValueId shape = editor.AddConstant(IntsConstant(dims));
  const ir::ValueId y = editor.Add(like, "Reshape"_op, {value, shape});
  editor.SetType(y, editor.value(value).dtype, Shape(dims));
  return y;
}

/// `value` cut to the box; the same value where that is all of it.
ir::ValueId Sliced(Editor& editor, const ir::Node& like, ir::ValueId value, const Box& box) {
  Dims dims = editor.value(value).shape->dims(), starts, ends, axes;
  for (int j = 0; j < box.axes(); ++j) {
    if (box.extent[j] == dims[j]) continue;
    starts.push_back(box.first[j]);
    ends.push_back(box.first[j] + box.extent[j]);
    axes.push_back(j);
    dims[j] = box.extent[j];
  }
  if (axes.empty()) return value;
  std::vector<ir::ValueId> operands = {value};
  for (const Dims& ints : {starts, ends, axes})
    operands.push_back(editor.AddConstant(IntsConstant(ints)));
  const ir::ValueId y = editor.Add(like, "Slice"_op, operands);
  editor.SetType(y, editor.value(value).dtype, Shape(dims));
  return y;
}

bool GatherBox(Editor& editor, ir::NodeId id, Tuples tuples) {
  const ir::Node node = editor.node(id);
  const Shape data = *editor.value(node.inputs[0]).shape, y = *editor.value(node.outputs[0]).shape;
  std::optional<Box> box = ReadBox(tuples);
  const Dims counts = tuples.counts;
  if (!box) {
    for (int axis = 0; axis < static_cast<int>(counts.size()); ++axis) DropRepeats(axis, tuples);
    box = ReadBox(tuples);
  }
  if (!box) return false;
  Dims taken = tuples.counts;
  for (int j = box->axes(); j < data.rank(); ++j) taken.push_back(data[j]);
  const ir::ValueId cut = Sliced(editor, node, node.inputs[0], *box);
  if (tuples.counts == counts) {
    editor.Replace(id, "Reshape"_op, {cut, editor.AddConstant(IntsConstant(taken))});
    return true;
  }
  const ir::ValueId shape = editor.AddConstant(IntsConstant(y.dims()));
  editor.Replace(id, "Expand"_op, {Reshaped(editor, node, cut, taken), shape});
  return true;
}

/// GatherND of tuples of one index.
Status GatherSingles(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::Value& indices = editor.value(node.inputs[1]);
  Dims dims = indices.shape->dims();
  dims.pop_back();
  ir::ValueId singles = ir::kAbsent;
  if (const Constant* constant = ConstantOf(editor.graph(), node.inputs[1])) {
    ASSIGN_OR_RETURN(Constant flat, ConstantFrom(indices.dtype, Shape(dims), DoublesOf(*constant)));
    singles = editor.AddConstant(std::move(flat));
  } else {
    singles = Reshaped(editor, node, node.inputs[1], dims);
  }
  editor.Replace(id, "Gather"_op, {node.inputs[0], singles}, {{"axis", int64_t{0}}});
  return OkStatus();
}

/// The axes in the order `perm`, `data`'s first ones, which follow each other in front of it: the
/// first of them there. -1: they do not, or the others change their order.
int FollowingAxes(const std::vector<int64_t>& perm, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    if (perm[i] != perm[0] + i) return -1;
  }
  if (!std::is_sorted(perm.begin() + count, perm.end())) return -1;
  return static_cast<int>(perm[0]);
}

/// The tuples as indices of `x`'s axes from `axis` on, taken as one.
std::vector<double> FlatIndices(const Tuples& tuples, const Shape& x, int axis) {
  const auto length = static_cast<int>(tuples.length);
  std::vector<double> flat;
  for (int64_t i = 0; i < std::ssize(tuples.values); i += length) {
    int64_t at = 0;
    for (int j = 0; j < length; ++j) at = at * x[axis + j] + tuples.values[i + j];
    flat.push_back(static_cast<double>(at));
  }
  return flat;
}

/// GatherND of constant tuples behind a Transpose that brought their axes to the front: a Gather
/// over these axes as one, where they lay, and the Transpose behind it. Exporters write
/// `x[:, i, j]` so, and the axes' way back as one more Transpose.
Result<bool> GatherBeforeTranspose(Editor& editor, ir::NodeId id, const Tuples& tuples) {
  const ir::Node node = editor.node(id);
  const ir::Node* transpose = editor.Producer(node.inputs[0], "Transpose"_op);
  if (transpose == nullptr || !editor.value(transpose->inputs[0]).has_concrete_shape())
    return false;
  const ir::ValueId source = transpose->inputs[0];
  const Shape x = *editor.value(source).shape;
  const std::vector<int64_t> perm = transpose->attributes.Ints("perm");
  if (std::ssize(perm) != x.rank()) return false;
  const int axis = FollowingAxes(perm, tuples.length);
  if (axis <= 0) return false;
  const auto length = static_cast<int>(tuples.length);
  Dims joined = x.dims();
  joined.resize(axis);
  Dims taken = joined;
  joined.push_back(x.Count(axis, axis + length));
  taken.insert(taken.end(), tuples.counts.begin(), tuples.counts.end());
  for (int i = axis + length; i < x.rank(); ++i) {
    joined.push_back(x[i]);
    taken.push_back(x[i]);
  }
  const std::vector<double> flat = FlatIndices(tuples, x, axis);
  ASSIGN_OR_RETURN(Constant indices, ConstantFrom(DType::kI64, Shape(tuples.counts), flat));
  const ir::ValueId y =
      editor.Add(node, "Gather"_op,
                 {Reshaped(editor, node, source, joined), editor.AddConstant(std::move(indices))},
                 {{"axis", int64_t{axis}}});
  editor.SetType(y, editor.value(source).dtype, Shape(taken));
  std::vector<int64_t> back;
  const auto counts = static_cast<int>(tuples.counts.size());
  for (int i = 0; i < counts; ++i) back.push_back(axis + i);
  for (int i = 0; i < static_cast<int>(taken.size()); ++i) {
    if (i < axis || i >= axis + counts) back.push_back(i);
  }
  editor.Replace(id, "Transpose"_op, {y}, {{"perm", back}});
  return true;
}

Status TryGather(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::Value &x = editor.value(node.inputs[0]), &indices = editor.value(node.inputs[1]);
  if (!x.has_concrete_shape() || !indices.has_concrete_shape() || indices.shape->rank() == 0 ||
      node.attributes.Int("batch_dims", 0) != 0 ||
      !editor.value(node.outputs[0]).has_concrete_shape())
    return OkStatus();
  const bool are_singles = indices.shape->dims().back() == 1;
  if (const auto tuples = ReadTuples(editor.graph(), node.inputs[1], *x.shape)) {
    if (GatherBox(editor, id, *tuples)) return OkStatus();
    ASSIGN_OR_RETURN(const bool moved, GatherBeforeTranspose(editor, id, *tuples));
    if (moved) return OkStatus();
  }
  return are_singles ? GatherSingles(editor, id) : OkStatus();
}

/// The one axis of `data` that the box cuts; -1: none, nothing: several.
std::optional<int> CutAxis(const Box& box, const Shape& data) {
  int axis = -1;
  for (int j = 0; j < box.axes(); ++j) {
    if (box.extent[j] == data[j]) continue;
    if (axis >= 0) return std::nullopt;
    axis = j;
  }
  return axis;
}

/// `value` with its axes in the order `perm`; the same value where `perm` is empty.
ir::ValueId Transposed(Editor& editor, const ir::Node& like, ir::ValueId value,
                       const std::vector<int64_t>& perm) {
  if (perm.empty()) return value;
  const Shape shape = *editor.value(value).shape;
  Dims dims;
  for (const int64_t axis : perm) dims.push_back(shape[static_cast<int>(axis)]);
  const ir::ValueId y = editor.Add(like, "Transpose"_op, {value}, {{"perm", perm}});
  editor.SetType(y, editor.value(value).dtype, Shape(dims));
  return y;
}

/// `node` is the ScatterND, `place` what the Concat stands for: it, or the Transpose by `perm` that
/// reads it.
void ConcatBox(Editor& editor, const ir::Node& node, ir::NodeId place, const Box& box, int axis,
               const std::vector<int64_t>& perm) {
  const Shape data = *editor.value(node.inputs[0]).shape;
  Dims dims = data.dims();
  dims[axis] = box.extent[axis];
  const ir::ValueId updates =
      Transposed(editor, node, Reshaped(editor, node, node.inputs[2], dims), perm);
  const ir::ValueId around = Transposed(editor, node, node.inputs[0], perm);
  const auto at = std::find(perm.begin(), perm.end(), axis);
  const int joined = perm.empty() ? axis : static_cast<int>(at - perm.begin());
  Box part = {.first = Dims(joined + 1), .extent = editor.value(around).shape->dims()};
  part.extent.resize(joined + 1);
  std::vector<ir::ValueId> parts;
  const auto add_slice = [&](int64_t first, int64_t extent) {
    part.first[joined] = first;
    part.extent[joined] = extent;
    if (extent > 0) parts.push_back(Sliced(editor, node, around, part));
  };
  const int64_t end = box.first[axis] + box.extent[axis];
  add_slice(0, box.first[axis]);
  parts.push_back(updates);
  add_slice(end, data[axis] - end);
  editor.Replace(place, "Concat"_op, parts, {{"axis", int64_t{joined}}});
}

/// The Transpose that alone reads the ScatterND whose data come from a Transpose: both go.
ir::NodeId TransposeBehind(const Editor& editor, const ir::Node& node) {
  const ir::NodeId reader = editor.OnlyReader(node.outputs[0]);
  const bool is_between = reader >= 0 && editor.node(reader).op == "Transpose"_op &&
                          editor.node(reader).attributes.Has("perm") &&
                          editor.Producer(node.inputs[0], "Transpose"_op) != nullptr;
  return is_between ? reader : -1;
}

void TryScatter(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::Value &x = editor.value(node.inputs[0]), &updates = editor.value(node.inputs[2]);
  if (!x.has_concrete_shape() || !updates.has_concrete_shape() ||
      !editor.value(node.inputs[1]).has_concrete_shape() ||
      node.attributes.Text("reduction", "none") != "none")
    return;
  const Shape data = *x.shape;
  const auto tuples = ReadTuples(editor.graph(), node.inputs[1], data);
  if (!tuples) return;
  const std::optional<Box> box = ReadBox(*tuples);
  const auto axis = box ? CutAxis(*box, data) : std::nullopt;
  if (!axis) return;
  if (*axis < 0) {
    const ir::ValueId shape = editor.AddConstant(IntsConstant(data.dims()));
    editor.Replace(id, "Reshape"_op, {node.inputs[2], shape});
    return;
  }
  if (const ir::NodeId reader = TransposeBehind(editor, node); reader >= 0) {
    const std::vector<int64_t> perm = editor.node(reader).attributes.Ints("perm");
    ConcatBox(editor, node, reader, *box, *axis, perm);
  } else {
    ConcatBox(editor, node, id, *box, *axis, {});
  }
}

}  // namespace

Result<bool> IndexBoxes(ir::Graph& graph) {
  if (!HasOp(graph, {"GatherND"_op, "ScatterND"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead) continue;
    if (editor.node(id).op == "GatherND"_op) {
      RETURN_IF_ERROR(TryGather(editor, id));
    } else if (editor.node(id).op == "ScatterND"_op) {
      TryScatter(editor, id);
    }
  }
  return editor.Finish();
}

}  // namespace fettle::passes
