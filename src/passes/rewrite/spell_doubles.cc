#include "passes/rewrite/spell_doubles.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

/// Nodes of one shape, and rows of it reduced to one element each.
class Doubles {
 public:
  /// Rows are the axes [first, last).
  Doubles(Editor& editor, const ir::Node& node, int first, int last)
      : nodes_(editor, node, DType::kF64),
        dims_(editor.value(node.inputs[0]).shape->dims()),
        reduced_(dims_) {
    for (int axis = first; axis < last; ++axis) {
      axes_.push_back(axis);
      reduced_[axis] = 1;
    }
  }

  TypedNodes& nodes() { return nodes_; }
  ir::ValueId x() const { return nodes_.like().inputs[0]; }
  const Dims& dims() const { return dims_; }
  ir::ValueId Whole(ir::OpRef op, std::vector<ir::ValueId> inputs) {
    return nodes_.Add(op, std::move(inputs), dims_);
  }
  ir::ValueId OfRows(ir::OpRef op, std::vector<ir::ValueId> inputs) {
    return nodes_.Add(op, std::move(inputs), reduced_);
  }
  ir::ValueId Reduce(ir::OpRef op, ir::ValueId x) {
    return nodes_.Add(op, {x, nodes_.Ints(axes_)}, reduced_, {{"keepdims", int64_t{1}}});
  }

 private:
  TypedNodes nodes_;
  Dims dims_, reduced_;
  std::vector<int64_t> axes_;
};

int AxisOf(const ir::Node& node, int rank) {
  const int64_t axis = node.attributes.Int("axis", -1);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Status SpellSoftmax(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const int axis = AxisOf(node, editor.value(node.inputs[0]).shape->rank());
  Doubles of(editor, node, axis, axis + 1);
  const ir::ValueId below = of.Whole("Sub"_op, {of.x(), of.Reduce("ReduceMax"_op, of.x())});
  const ir::ValueId powers = of.Whole("Exp"_op, {below});
  const ir::ValueId sum = of.Reduce("ReduceSum"_op, powers);
  if (node.op == "Softmax"_op)
    editor.Replace(id, "Div"_op, {powers, sum});
  else
    editor.Replace(id, "Sub"_op, {below, of.OfRows("Log"_op, {sum})});
  return OkStatus();
}

Status SpellLayerNorm(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  if (node.output(1) != ir::kAbsent || node.output(2) != ir::kAbsent) return OkStatus();
  const int rank = editor.value(node.inputs[0]).shape->rank();
  Doubles of(editor, node, AxisOf(node, rank), rank);
  const ir::ValueId apart = of.Whole("Sub"_op, {of.x(), of.Reduce("ReduceMean"_op, of.x())});
  const ir::ValueId variance = of.Reduce("ReduceMean"_op, of.Whole("Mul"_op, {apart, apart}));
  ASSIGN_OR_RETURN(const ir::ValueId epsilon,
                   of.nodes().Number(node.attributes.Float("epsilon", 1e-5)));
  const ir::ValueId deviation = of.OfRows("Sqrt"_op, {of.OfRows("Add"_op, {variance, epsilon})});
  const ir::ValueId normed = of.Whole("Div"_op, {apart, deviation});
  if (node.input(2) == ir::kAbsent) {
    editor.Replace(id, "Mul"_op, {normed, node.inputs[1]});
    return OkStatus();
  }
  editor.Replace(id, "Add"_op, {of.Whole("Mul"_op, {normed, node.inputs[1]}), node.inputs[2]});
  return OkStatus();
}

Status SpellBatchNorm(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const Shape x = *editor.value(node.inputs[0]).shape;
  if (x.rank() < 2) return OkStatus();
  Doubles of(editor, node, 0, 0);
  TypedNodes& nodes = of.nodes();
  const Dims channels{x[1]};
  Dims planes(x.rank() - 1, 1);
  planes[0] = x[1];
  const auto per_channel = [&](ir::OpRef op, std::vector<ir::ValueId> inputs) {
    return nodes.Add(op, std::move(inputs), channels);
  };
  ASSIGN_OR_RETURN(const ir::ValueId epsilon, nodes.Number(node.attributes.Float("epsilon", 1e-5)));
  const ir::ValueId deviation =
      per_channel("Sqrt"_op, {per_channel("Add"_op, {node.inputs[4], epsilon})});
  const ir::ValueId scale = per_channel("Div"_op, {node.inputs[1], deviation});
  const ir::ValueId shift =
      per_channel("Sub"_op, {node.inputs[2], per_channel("Mul"_op, {node.inputs[3], scale})});
  const ir::ValueId scaled = of.Whole("Mul"_op, {of.x(), nodes.Reshape(scale, planes)});
  editor.Replace(id, "Add"_op, {scaled, nodes.Reshape(shift, planes)});
  return OkStatus();
}

Status SpellIsNaN(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  Doubles of(editor, node, 0, 0);
  const ir::ValueId is_number =
      of.nodes().AddOf(DType::kBool, "Equal"_op, {of.x(), of.x()}, of.dims());
  editor.Replace(id, "Not"_op, {is_number});
  return OkStatus();
}

Status SpellIsInf(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const bool positive = node.attributes.Int("detect_positive", 1) != 0;
  const bool negative = node.attributes.Int("detect_negative", 1) != 0;
  if (!positive && !negative) return OkStatus();
  Doubles of(editor, node, 0, 0);
  const double infinity = std::numeric_limits<double>::infinity();
  ASSIGN_OR_RETURN(const ir::ValueId bound, of.nodes().Number(positive ? infinity : -infinity));
  const ir::ValueId x = positive && negative ? of.Whole("Abs"_op, {of.x()}) : of.x();
  editor.Replace(id, "Equal"_op, {x, bound});
  return OkStatus();
}

struct Spelling {
  std::string_view op;
  Status (*spell)(Editor& editor, ir::NodeId id);
};
constexpr Spelling kSpellings[] = {{"BatchNormalization", SpellBatchNorm},
                                   {"IsInf", SpellIsInf},
                                   {"IsNaN", SpellIsNaN},
                                   {"LayerNormalization", SpellLayerNorm},
                                   {"LogSoftmax", SpellSoftmax},
                                   {"Softmax", SpellSoftmax}};

/// Whether all operands are doubles of known shapes, of which there are some.
bool IsOfDoubles(const Editor& editor, const ir::Node& node) {
  return std::ranges::all_of(node.inputs, [&](ir::ValueId id) {
    if (id == ir::kAbsent) return true;
    const ir::Value& value = editor.value(id);
    return value.dtype == DType::kF64 && value.has_concrete_shape() && value.shape->elements() > 0;
  });
}

}  // namespace

Result<bool> SpellDoubles(ir::Graph& graph) {
  if (!HasOp(graph, {"BatchNormalization"_op, "IsInf"_op, "IsNaN"_op, "LayerNormalization"_op,
                     "LogSoftmax"_op, "Softmax"_op}))
    return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node& node = editor.node(id);
    const auto* row = std::ranges::find(kSpellings, node.op.name(), &Spelling::op);
    if (!node.dead && row != std::end(kSpellings) && IsOfDoubles(editor, node))
      RETURN_IF_ERROR(row->spell(editor, id));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
