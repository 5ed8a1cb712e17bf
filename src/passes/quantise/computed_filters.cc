#include "passes/quantise/computed_filters.h"

#include <string>
#include <vector>

#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

/// Floats hold whole numbers up to 2^24.
constexpr int64_t kExact = int64_t{1} << 24, kByte = 255, kHigh = 16;

class ComputedFilter {
 public:
  ComputedFilter(Editor& editor, ir::NodeId id)
      : nodes_(editor, editor.node(id), DType::kF32), id_(id) {}

  Status Spell() {
    const Shape w = nodes_.ShapeOf(node().inputs[1]);
    const int64_t terms = w.elements() / w[0];
    // As many channels as have exact sums.
    const int64_t most = kExact / (kByte * kByte) / (terms / w[1]);
    if (most > 0 && w[1] > most && node().attributes.Int("group", 1) == 1)
      return SpellParts((w[1] + most - 1) / most);
    if (terms * kByte * kHigh > kExact) return OkStatus();
    const ir::ValueId x = Floats(0, {}), filters = Floats(1, FilterZeros());
    if (terms * kByte * kByte <= kExact) {
      nodes_.editor().Replace(id_, "Cast"_op, {Convolve(x, filters)}, {{"to", std::string("i32")}});
      return OkStatus();
    }
    const Dims dims = nodes_.ShapeOf(x).dims();
    ASSIGN_OR_RETURN(const ir::ValueId part, nodes_.Number(1.0 / kHigh));
    ASSIGN_OR_RETURN(const ir::ValueId whole, nodes_.Number(kHigh));
    ASSIGN_OR_RETURN(Constant number, ConstantFrom(DType::kI32, Shape{}, {kHigh}));
    const ir::ValueId high = nodes_.Add("Floor"_op, {nodes_.Add("Mul"_op, {x, part}, dims)}, dims);
    const ir::ValueId low =
        nodes_.Add("Sub"_op, {x, nodes_.Add("Mul"_op, {high, whole}, dims)}, dims);
    const Dims y = Produced();
    const ir::ValueId times = nodes_.editor().AddConstant(std::move(number));
    const ir::ValueId highs =
        nodes_.AddOf(DType::kI32, "Mul"_op, {Whole(Convolve(high, filters)), times}, y);
    const ir::ValueId lows = Whole(Convolve(low, filters));
    nodes_.editor().Replace(id_, "Add"_op, {highs, lows});
    return OkStatus();
  }

 private:
  const ir::Node& node() const { return nodes_.like(); }
  Dims Produced() const { return nodes_.ShapeOf(node().outputs[0]).dims(); }

  /// The sum of `count` convolutions of some of the input's channels each.
  Status SpellParts(int64_t count) {
    const int64_t channels = nodes_.ShapeOf(node().inputs[1])[1];
    const ir::ValueId x = Floats(0, {}), filters = Floats(1, FilterZeros());
    std::vector<ir::ValueId> sums;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = i * channels / count, end = (i + 1) * channels / count;
      sums.push_back(Whole(Convolve(Channels(x, begin, end), Channels(filters, begin, end))));
      if (i == 0 || i == count - 1) continue;
      sums = {nodes_.AddOf(DType::kI32, "Add"_op, sums, Produced())};
    }
    nodes_.editor().Replace(id_, "Add"_op, sums);
    return OkStatus();
  }
  ir::ValueId Channels(ir::ValueId x, int64_t begin, int64_t end) {
    Dims dims = nodes_.ShapeOf(x).dims();
    dims[1] = end - begin;
    return nodes_.Add("Slice"_op, {x, nodes_.Ints({begin}), nodes_.Ints({end}), nodes_.Ints({1})},
                      dims);
  }

  /// The shape of a zero point for each filter.
  Dims FilterZeros() const {
    const Shape w = nodes_.ShapeOf(node().inputs[1]);
    Dims dims(w.rank(), 1);
    dims[0] = w[0];
    return dims;
  }
  /// Operand `i` less its zero points, which are reshaped to `zeros` where there are several.
  ir::ValueId Floats(size_t i, const Dims& zeros) {
    const Dims dims = nodes_.ShapeOf(node().inputs[i]).dims();
    const ir::Attributes to = {{"to", std::string("f32")}};
    const ir::ValueId x = nodes_.Add("Cast"_op, {node().inputs[i]}, dims, to);
    const ir::ValueId zero = node().input(i + 2);
    if (zero == ir::kAbsent) return x;
    const Shape shape = nodes_.ShapeOf(zero);
    ir::ValueId less = nodes_.Add("Cast"_op, {zero}, shape.dims(), to);
    if (shape.elements() > 1) less = nodes_.Reshape(less, zeros);
    return nodes_.Add("Sub"_op, {x, less}, dims);
  }
  ir::ValueId Convolve(ir::ValueId x, ir::ValueId filters) {
    return nodes_.Add("Conv"_op, {x, filters}, Produced(), node().attributes);
  }
  ir::ValueId Whole(ir::ValueId x) {
    return nodes_.AddOf(DType::kI32, "Cast"_op, {x}, Produced(), {{"to", std::string("i32")}});
  }

  TypedNodes nodes_;
  ir::NodeId id_;
};

/// Whether kernels of bytes have no sums for it, or slow ones: its weights are computed, or groups
/// of few channels make integers that nothing turns into floats.
bool IsSpelled(const Editor& editor, const ir::Node& node) {
  if (node.dead || node.op != "ConvInteger"_op) return false;
  for (ir::ValueId id : node.inputs) {
    if (id != ir::kAbsent && !editor.value(id).has_concrete_shape()) return false;
  }
  const ir::Value &w = editor.value(node.inputs[1]), &y = editor.value(node.outputs[0]);
  if (w.shape->elements() == 0 || !y.has_concrete_shape()) return false;
  if (!w.is_constant()) return true;
  const ir::NodeId reader = editor.OnlyReader(node.outputs[0]);
  return (*w.shape)[1] <= 2 && node.attributes.Int("group", 1) > 1 &&
         (reader < 0 || editor.node(reader).op != "Cast"_op);
}

}  // namespace

Result<bool> SpellComputedFilters(ir::Graph& graph) {
  if (!HasOp(graph, {"ConvInteger"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (IsSpelled(editor, editor.node(id))) RETURN_IF_ERROR(ComputedFilter(editor, id).Spell());
  }
  return editor.Finish();
}

}  // namespace fettle::passes
