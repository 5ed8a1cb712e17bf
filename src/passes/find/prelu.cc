#include "passes/find/prelu.h"

#include "passes/edit/constants.h"
#include "passes/find/spelled_product.h"

namespace fettle::passes {
namespace {

/// How often `value` holds the negative part of x, min(x, 0); 0 where it does not.
double NegativeParts(const Editor& editor, ir::ValueId value, ir::ValueId x) {
  const ir::Node* node = editor.Producer(value);
  if (node == nullptr || !editor.HasOneUse(value)) return 0;
  if (node->op == "Sub"_op && node->inputs[0] == x)
    return OperandOf(editor, node->inputs[1], "Abs"_op) == x ? 2 : 0;
  const auto is_negated_relu = [&](const ir::Node& relu) {
    return relu.op == "Relu"_op && OperandOf(editor, relu.inputs[0], "Neg"_op) == x;
  };
  if (is_negated_relu(*node)) return -1;
  if (node->op == "Neg"_op && editor.HasOneUse(node->inputs[0])) {
    const ir::Node* relu = editor.Producer(node->inputs[0]);
    return relu != nullptr && is_negated_relu(*relu) ? 1 : 0;
  }
  if (node->op == "Min"_op && node->inputs.size() == 2 && node->inputs[0] == x)
    return ScalarFor(editor.graph(), node->inputs[1], x) == 0.0 ? 1 : 0;
  return 0;
}

/// Whether `slope` has a number for each channel of a convolution that makes x, at any extents.
bool HasOneAChannel(const Editor& editor, const Constant& slope, ir::ValueId x) {
  const ir::Node* conv = editor.Producer(x);
  if (conv == nullptr || (conv->op != "Conv"_op && conv->op != "ConvTranspose"_op)) return false;
  const Constant* weights = ConstantOf(editor.graph(), conv->inputs[1]);
  if (weights == nullptr || weights->shape().rank() < 3) return false;
  const Shape &w = weights->shape(), &s = slope.shape();
  const int64_t channels = conv->op == "Conv"_op ? w[0] : w[1] * conv->attributes.Int("group", 1);
  const int lead = w.rank() - s.rank();
  for (int axis = 0; axis < s.rank(); ++axis)
    if (lead < 0 || (s[axis] != 1 && (lead + axis != 1 || s[axis] != channels))) return false;
  return true;
}

/// Replaces `id` = Relu(x) + sign * product by one node where it is one.
Result<bool> TryPRelu(Editor& editor, ir::NodeId id, ir::ValueId relu, ir::ValueId rest,
                      double sign) {
  const ir::ValueId x = OperandOf(editor, relu, "Relu"_op);
  if (x == ir::kAbsent || !editor.HasOneUse(rest)) return false;
  const Product product = FlattenProduct(editor, rest);
  if (product.values.size() != 1 || product.constants.size() > 1) return false;
  const double parts = NegativeParts(editor, product.values[0], x);
  if (parts == 0) return false;
  const double factor = sign * parts * product.factor;
  if (product.constants.empty()) {
    editor.Replace(id, "LeakyRelu"_op, {x}, {{"alpha", factor}});
    return true;
  }
  const Constant& slope = *ConstantOf(editor.graph(), product.constants[0]);
  if (!KeepsShape(editor.graph(), slope, x) && !HasOneAChannel(editor, slope, x)) return false;
  ir::ValueId scaled = product.constants[0];
  if (factor != 1) {
    std::vector<double> values = DoublesOf(slope);
    for (double& value : values) value *= factor;
    ASSIGN_OR_RETURN(Constant constant, ConstantFrom(slope.dtype(), slope.shape(), values));
    scaled = editor.AddConstant(std::move(constant));
  }
  editor.Replace(id, "PRelu"_op, {x, scaled});
  return true;
}

}  // namespace

Result<bool> FindPRelu(ir::Graph& graph) {
  if (!HasOp(graph, {"Relu"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead) continue;
    const ir::OpRef op = editor.node(id).op;
    if ((op != "Add"_op && op != "Sub"_op) || editor.node(id).inputs.size() != 2) continue;
    const ir::ValueId a = editor.node(id).inputs[0], b = editor.node(id).inputs[1];
    ASSIGN_OR_RETURN(bool done, TryPRelu(editor, id, a, b, op == "Add"_op ? 1 : -1));
    if (done || op == "Sub"_op) continue;
    RETURN_IF_ERROR(TryPRelu(editor, id, b, a, 1).status());
  }
  return editor.Finish();
}

}  // namespace fettle::passes
