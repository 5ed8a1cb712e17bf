#include "passes/find/gelu.h"

#include <algorithm>
#include <numbers>

#include "passes/edit/constants.h"
#include "passes/find/spelled_product.h"

namespace fettle::passes {
namespace {

/// Papers and models write this number with few digits.
constexpr double kCubic = 0.044715;
constexpr double kCubicPrecision = 1e-3;
const double kSqrtHalf = std::numbers::sqrt2 / 2;
const double kTanhFactor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

bool IsPower(const Product& product, ir::ValueId x, size_t power) {
  return product.constants.empty() && product.values.size() == power &&
         std::all_of(product.values.begin(), product.values.end(),
                     [x](ir::ValueId value) { return value == x; });
}

/// x / sqrt(2)
bool IsErfArgument(const Editor& editor, ir::ValueId value, ir::ValueId x) {
  const Product product = FlattenProduct(editor, value);
  return IsPower(product, x, 1) &&
         IsNear(product.factor, kSqrtHalf, std::max(product.precision, 1e-5));
}

/// x + 0.044715 * x^3
bool IsCubic(const Editor& editor, ir::ValueId value, ir::ValueId x) {
  const ir::Node* node = editor.Producer(value, "Add"_op);
  if (node == nullptr || !editor.HasOneUse(value)) return false;
  for (const size_t linear : {0, 1}) {
    if (node->inputs[linear] != x) continue;
    const Product cube = FlattenProduct(editor, node->inputs[1 - linear]);
    if (IsPower(cube, x, 3) && IsNear(cube.factor, kCubic, kCubicPrecision)) return true;
  }
  return false;
}

/// 1 + 0.044715 * x^2
bool IsQuadratic(const Editor& editor, ir::ValueId value, ir::ValueId x) {
  const std::optional<Offset> offset = ReadOffset(editor, value);
  if (!offset || offset->offset != 1) return false;
  const Product square = FlattenProduct(editor, offset->x);
  return IsPower(square, x, 2) && IsNear(square.factor, kCubic, kCubicPrecision);
}

/// sqrt(2 / pi) * (x + 0.044715 * x^3), with x taken out or not
bool IsTanhArgument(const Editor& editor, ir::ValueId value, ir::ValueId x) {
  Product product = FlattenProduct(editor, value);
  if (!product.constants.empty() || !IsNear(product.factor, kTanhFactor, 1e-3)) return false;
  if (product.values.size() == 1) return IsCubic(editor, product.values[0], x);
  return product.values.size() == 2 && product.Remove(x) &&
         IsQuadratic(editor, product.values[0], x);
}

void TryGelu(Editor& editor, ir::NodeId id) {
  const Product product = FlattenProduct(editor, editor.node(id).outputs[0]);
  if (product.values.size() != 2 || !product.constants.empty() || !product.FactorIs(0.5)) return;
  for (const size_t gate : {0, 1}) {
    const ir::ValueId x = product.values[1 - gate];
    const std::optional<Offset> offset = ReadOffset(editor, product.values[gate]);
    if (!offset || offset->offset != 1) continue;
    const ir::ValueId erf = OperandOf(editor, offset->x, "Erf"_op);
    const ir::ValueId tanh = OperandOf(editor, offset->x, "Tanh"_op);
    const bool exact = erf != ir::kAbsent && IsErfArgument(editor, erf, x);
    if (!exact && (tanh == ir::kAbsent || !IsTanhArgument(editor, tanh, x))) continue;
    editor.Replace(id, "Gelu"_op, {x}, {{"approximate", std::string(exact ? "none" : "tanh")}});
    return;
  }
}

}  // namespace

Result<bool> FindGelu(ir::Graph& graph) {
  if (!HasOp(graph, {"Erf"_op, "Tanh"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = end - 1; id >= 0; --id) {
    const ir::Node& node = editor.node(id);
    if (!node.dead && (node.op == "Mul"_op || node.op == "Div"_op)) TryGelu(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
