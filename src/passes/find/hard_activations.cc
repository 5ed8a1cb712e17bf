#include "passes/find/hard_activations.h"

#include <cmath>

#include "passes/edit/constants.h"
#include "passes/edit/least_rank.h"
#include "passes/find/spelled_product.h"

namespace fettle::passes {
namespace {

/// clip(x + offset, 0, high), read by nothing else.
struct ClippedOffset {
  ir::ValueId x = ir::kAbsent;
  double offset = 0;
  double high = 0;
};

std::optional<double> Bound(const Editor& editor, const ir::Node& node, size_t i) {
  return ScalarFor(editor, node.input(i), node.inputs[0]);
}

/// The operand and upper bound of a clip from zero.
std::optional<ClippedOffset> ReadClip(const Editor& editor, ir::ValueId value) {
  const ir::Node* node = editor.Producer(value);
  if (node == nullptr || !editor.HasOneUse(value)) return std::nullopt;
  if (node->op == "Clip"_op) {
    const auto low = Bound(editor, *node, 1), high = Bound(editor, *node, 2);
    if (!low || !high || *low != 0) return std::nullopt;
    return ClippedOffset{node->inputs[0], 0, *high};
  }
  if (node->op != "Min"_op || node->inputs.size() != 2) return std::nullopt;
  const auto high = Bound(editor, *node, 1);
  const ir::Node* floor = editor.Producer(node->inputs[0]);
  if (!high || floor == nullptr || !editor.HasOneUse(node->inputs[0])) return std::nullopt;
  if (floor->op == "Relu"_op) return ClippedOffset{floor->inputs[0], 0, *high};
  if (floor->op != "Max"_op || floor->inputs.size() != 2 || Bound(editor, *floor, 1) != 0.0)
    return std::nullopt;
  return ClippedOffset{floor->inputs[0], 0, *high};
}

std::optional<ClippedOffset> ReadClippedOffset(const Editor& editor, ir::ValueId value) {
  std::optional<ClippedOffset> clip = ReadClip(editor, value);
  if (!clip) return std::nullopt;
  const std::optional<Offset> offset = ReadOffset(editor, clip->x);
  if (!offset) return std::nullopt;
  clip->x = offset->x;
  clip->offset = offset->offset;
  return clip;
}

/// The nearest number that a model would mean: sixths and halves are not binary fractions.
double Snap(double value, double precision) {
  const double sixths = std::round(value * 6) / 6;
  return IsNear(value, sixths, precision) ? sixths : value;
}

bool TryHardSigmoid(Editor& editor, ir::NodeId id) {
  const Product product = FlattenProduct(editor, editor.node(id).outputs[0]);
  if (product.values.size() != 1 || !product.constants.empty()) return false;
  const auto clip = ReadClippedOffset(editor, product.values[0]);
  if (!clip || !IsNear(product.factor * clip->high, 1, product.precision)) return false;
  const Product inner = FlattenProduct(editor, clip->x);
  const bool scaled =
      inner.values.size() == 1 && inner.constants.empty() && editor.HasOneUse(clip->x);
  const double factor = scaled ? inner.factor : 1;
  const ir::ValueId x = scaled ? inner.values[0] : clip->x;
  const double alpha = Snap(factor / clip->high, product.precision);
  const double beta = Snap(clip->offset / clip->high, product.precision);
  editor.Replace(id, "HardSigmoid"_op, {x}, {{"alpha", alpha}, {"beta", beta}});
  return true;
}

bool IsHalfSixth(const ir::Node& node) {
  return IsNear(node.attributes.Float("alpha", 0.2), 1.0 / 6, 1e-3) &&
         IsNear(node.attributes.Float("beta", 0.5), 0.5, 1e-3);
}

bool TryHardSwish(Editor& editor, ir::NodeId id) {
  const Product product = FlattenProduct(editor, editor.node(id).outputs[0]);
  if (product.values.size() != 2 || !product.constants.empty()) return false;
  for (const size_t gate : {0, 1}) {
    const ir::ValueId x = product.values[1 - gate], value = product.values[gate];
    const ir::ValueId operand = OperandOf(editor, value, "HardSigmoid"_op);
    bool found = operand == x && operand != ir::kAbsent && product.FactorIs(1) &&
                 IsHalfSixth(*editor.Producer(value));
    if (const auto clip = ReadClippedOffset(editor, value); clip && clip->x == x) {
      found |= clip->offset == 3 && clip->high == 6 && product.FactorIs(1.0 / 6);
    }
    if (!found) continue;
    editor.Replace(id, "HardSwish"_op, {x});
    return true;
  }
  return false;
}

Result<bool> ForEachProduct(ir::Graph& graph, bool (*rewrite)(Editor&, ir::NodeId)) {
  if (!HasOp(graph, {"Clip"_op, "Min"_op, "HardSigmoid"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  // From the last to the first: the root of a product comes before its inner nodes.
  for (ir::NodeId id = end - 1; id >= 0; --id) {
    const ir::Node& node = editor.node(id);
    if (!node.dead && (node.op == "Mul"_op || node.op == "Div"_op)) rewrite(editor, id);
  }
  return editor.Finish();
}

}  // namespace

Result<bool> FindHardSigmoid(ir::Graph& graph) { return ForEachProduct(graph, TryHardSigmoid); }
Result<bool> FindHardSwish(ir::Graph& graph) { return ForEachProduct(graph, TryHardSwish); }

}  // namespace fettle::passes
