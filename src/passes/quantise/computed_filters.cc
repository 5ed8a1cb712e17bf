#include "passes/quantise/computed_filters.h"

#include <string>

#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

/// Floats hold whole numbers up to 2^24, and so do sums of so many products of bytes.
constexpr int64_t kExactTerms = (int64_t{1} << 24) / (255 * 255);

class ComputedFilter {
 public:
  ComputedFilter(Editor& editor, ir::NodeId id)
      : nodes_(editor, editor.node(id), DType::kF32), id_(id) {}

  void Spell() {
    const ir::ValueId x = Floats(0, {}), filters = Floats(1, FilterZeros());
    const ir::ValueId sums = nodes_.Add(
        "Conv"_op, {x, filters}, nodes_.ShapeOf(node().outputs[0]).dims(), node().attributes);
    nodes_.editor().Replace(id_, "Cast"_op, {sums}, {{"to", std::string("i32")}});
  }

 private:
  const ir::Node& node() const { return nodes_.like(); }

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

  TypedNodes nodes_;
  ir::NodeId id_;
};

/// Whether floats hold its sums, and kernels of bytes are slower: of computed weights that are
/// depthwise, or of groups of few channels whose integers nothing turns into floats.
bool IsSpelled(const Editor& editor, const ir::Node& node) {
  if (node.dead || node.op != "ConvInteger"_op) return false;
  for (ir::ValueId id : node.inputs) {
    if (id != ir::kAbsent && !editor.value(id).has_concrete_shape()) return false;
  }
  const ir::Value &w = editor.value(node.inputs[1]), &y = editor.value(node.outputs[0]);
  const int64_t groups = node.attributes.Int("group", 1), outputs = (*w.shape)[0];
  const int64_t inputs = (*w.shape)[1];
  if (w.shape->elements() == 0 || !y.has_concrete_shape()) return false;
  if (w.shape->elements() / outputs > kExactTerms) return false;
  if (!w.is_constant()) return inputs == 1 && outputs == groups;
  const ir::NodeId reader = editor.OnlyReader(node.outputs[0]);
  return inputs <= 2 && groups > 1 && (reader < 0 || editor.node(reader).op != "Cast"_op);
}

}  // namespace

Result<bool> SpellComputedFilters(ir::Graph& graph) {
  if (!HasOp(graph, {"ConvInteger"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (IsSpelled(editor, editor.node(id))) ComputedFilter(editor, id).Spell();
  }
  return editor.Finish();
}

}  // namespace fettle::passes
