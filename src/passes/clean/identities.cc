#include "passes/clean/identities.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

bool IsOneOf(ir::OpRef op, std::initializer_list<ir::OpRef> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool SameConcreteShape(const ir::Graph& graph, ir::ValueId a, ir::ValueId b) {
  return graph.value(a).has_concrete_shape() && graph.value(b).has_concrete_shape() &&
         graph.value(a).shape == graph.value(b).shape;
}

bool MovesNoAxis(const ir::Graph& graph, const ir::Node& node) {
  std::vector<int64_t> perm = node.attributes.Ints("perm");
  if (perm.empty()) {
    const auto& shape = graph.value(node.inputs[0]).shape;
    return shape.has_value() && shape->rank() < 2;
  }
  return std::is_sorted(perm.begin(), perm.end());
}

/// Slice that steps forward by one everywhere, so that equal shapes mean equal elements.
bool StepsByOne(const ir::Graph& graph, const ir::Node& node) {
  if (node.input(4) == ir::kAbsent) return true;
  const auto steps = IntsOf(graph, node.input(4));
  return steps && std::all_of(steps->begin(), steps->end(), [](int64_t step) { return step == 1; });
}

/// Slice from the first element to behind the last, whatever the extents are: exporters write the
/// greatest integer of 32 or 64 bits for an end that they do not know.
bool TakesAll(const ir::Graph& graph, const ir::Node& node) {
  const auto starts = IntsOf(graph, node.input(1)), ends = IntsOf(graph, node.input(2));
  constexpr int64_t kEnd = std::numeric_limits<int32_t>::max();
  return starts && ends && StepsByOne(graph, node) &&
         std::all_of(starts->begin(), starts->end(), [](int64_t at) { return at == 0; }) &&
         std::all_of(ends->begin(), ends->end(), [](int64_t end) { return end >= kEnd; });
}

/// Resize by a scale of 1 on every axis, whose points are those of its input; the two modes that
/// sample elsewhere even so are left out.
bool ScalesByOne(const ir::Graph& graph, const ir::Node& node) {
  const std::string mode = node.attributes.Text("coordinate_transformation_mode", "half_pixel");
  if (mode == "tf_crop_and_resize" || mode == "tf_half_pixel_for_nn") return false;
  if (node.input(3) != ir::kAbsent)
    return node.attributes.Text("keep_aspect_ratio_policy", "stretch") == "stretch";
  const Constant* scales = ConstantOf(graph, node.input(2));
  return scales != nullptr && UniformValue(*scales) == 1;
}

/// x op c == x for every x, bit for bit.
bool IsNeutral(const ir::Graph& graph, ir::OpRef op, ir::ValueId x, ir::ValueId c) {
  const auto scalar = ScalarFor(graph, c, x);
  if (!scalar) return false;
  if (op == "Mul"_op || op == "Div"_op) return *scalar == 1;
  if (*scalar != 0) return false;
  const bool integer = !IsFloat(graph.value(c).dtype);
  // x + 0 turns -0 into 0; x + -0 and x - 0 do not.
  return integer || std::signbit(*scalar) == (op == "Add"_op);
}

/// The operand that the node's only output equals, or kAbsent.
ir::ValueId EqualOperand(const ir::Graph& graph, const ir::Node& node) {
  if (node.outputs.size() != 1 || node.outputs[0] == ir::kAbsent || node.inputs.empty() ||
      node.inputs[0] == ir::kAbsent) {
    return ir::kAbsent;
  }
  const ir::ValueId x = node.inputs[0], y = node.outputs[0];
  const ir::OpRef op = node.op;
  const bool one = node.inputs.size() == 1;
  if (op == "Identity"_op) return x;
  if (one && IsOneOf(op, {"Concat"_op, "Sum"_op, "Max"_op, "Min"_op, "Mean"_op, "Clip"_op}))
    return x;
  if (op == "Cast"_op) {
    const auto to = DTypeFromName(node.attributes.Text("to"));
    return to && graph.value(x).dtype == *to ? x : ir::kAbsent;
  }
  if (op == "Transpose"_op) return MovesNoAxis(graph, node) ? x : ir::kAbsent;
  if (op == "Slice"_op && TakesAll(graph, node)) return x;
  if (op->Has(ir::Trait::kKeepsBytes) || op == "Expand"_op || op == "Tile"_op ||
      (op == "Slice"_op && StepsByOne(graph, node)) ||
      (op == "Resize"_op && ScalesByOne(graph, node))) {
    return SameConcreteShape(graph, x, y) ? x : ir::kAbsent;
  }
  if (op == "Pad"_op) {
    const auto pads = IntsOf(graph, node.input(1));
    const bool none =
        pads && std::all_of(pads->begin(), pads->end(), [](int64_t pad) { return pad == 0; });
    return none ? x : ir::kAbsent;
  }
  if (!one && IsOneOf(op, {"Mul"_op, "Div"_op, "Add"_op, "Sub"_op})) {
    if (IsNeutral(graph, op, x, node.inputs[1])) return x;
    if (IsOneOf(op, {"Mul"_op, "Add"_op}) && IsNeutral(graph, op, node.inputs[1], x))
      return node.inputs[1];
  }
  return ir::kAbsent;
}

}  // namespace

Result<bool> RemoveIdentities(ir::Graph& graph) {
  Editor editor(graph);
  for (ir::NodeId id = 0; id < editor.end(); ++id) {
    if (editor.node(id).dead) continue;
    const ir::ValueId equal = EqualOperand(graph, editor.node(id));
    if (equal != ir::kAbsent) editor.Bypass(id, equal);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
