#include "passes/find/layer_norm.h"

#include <algorithm>

#include "passes/edit/constants.h"
#include "passes/find/spelled_product.h"

namespace fettle::passes {
namespace {

/// The first of the last axes that a ReduceMean with keepdims reduces, counted from the back (-1:
/// the last axis alone); nothing for other axes.
std::optional<int64_t> ReadLastAxes(const Editor& editor, const ir::Node& mean) {
  if (mean.attributes.Int("keepdims", 1) != 1) return std::nullopt;
  auto axes = IntsOf(editor.graph(), mean.input(1));
  if (!axes || axes->empty()) return std::nullopt;
  const auto& shape = editor.value(mean.inputs[0]).shape;
  for (int64_t& axis : *axes) {
    if (axis >= 0 && !shape) return std::nullopt;
    if (axis >= 0) axis -= shape->rank();
  }
  std::sort(axes->begin(), axes->end());
  const auto count = static_cast<int64_t>(axes->size());
  for (int64_t i = 0; i < count; ++i) {
    if ((*axes)[i] != i - count) return std::nullopt;
  }
  return -count;
}

/// x where `value` is x - mean(x) over the axes from `axis` on; otherwise kAbsent.
ir::ValueId ReadCentred(const Editor& editor, ir::ValueId value, int64_t axis) {
  const ir::Node* sub = editor.Producer(value, "Sub"_op);
  if (sub == nullptr || editor.IsOutput(value)) return ir::kAbsent;
  const ir::Node* mean = editor.Producer(sub->inputs[1], "ReduceMean"_op);
  if (mean == nullptr || mean->inputs[0] != sub->inputs[0]) return ir::kAbsent;
  return ReadLastAxes(editor, *mean) == axis ? sub->inputs[0] : ir::kAbsent;
}

/// The first axis, where `value` is the mean of the squares of `x` over the last axes.
std::optional<int64_t> ReadMeanSquare(const Editor& editor, ir::ValueId value, ir::ValueId x) {
  const ir::Node* mean = editor.Producer(value, "ReduceMean"_op);
  if (mean == nullptr || !editor.HasOneUse(value)) return std::nullopt;
  const Product square = FlattenProduct(editor, mean->inputs[0]);
  const bool is_square = square.factor == 1 && square.constants.empty() &&
                         square.values.size() == 2 && square.values[0] == x &&
                         square.values[1] == x;
  return is_square ? ReadLastAxes(editor, *mean) : std::nullopt;
}

/// Where `value` is the square root of something (power 0.5), or its inverse (power -0.5): that.
ir::ValueId RootOf(const Editor& editor, ir::ValueId value, double power) {
  if (!editor.HasOneUse(value)) return ir::kAbsent;
  const ir::Node* node = editor.Producer(value);
  if (node == nullptr) return ir::kAbsent;
  if (node->op == "Pow"_op && ScalarFor(editor.graph(), node->inputs[1], node->inputs[0]) == power)
    return node->inputs[0];
  if (power > 0) return OperandOf(editor, value, "Sqrt"_op);
  if (node->op == "Reciprocal"_op) return RootOf(editor, node->inputs[0], -power);
  if (node->op == "Div"_op && ScalarFor(editor.graph(), node->inputs[0], node->inputs[1]) == 1.0)
    return RootOf(editor, node->inputs[1], -power);
  return ir::kAbsent;
}

struct Norm {
  ir::ValueId x = ir::kAbsent;
  int64_t axis = -1;
  double epsilon = 0;
  bool centres = false;  // LayerNormalization; otherwise RMSNormalization
};

/// Where `node` is x / sqrt(mean(x * x) + epsilon), and whether x is centred.
std::optional<Norm> ReadNorm(const Editor& editor, const ir::Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  for (const size_t root : {1, 0}) {
    if (node.op == "Div"_op && root == 0) break;
    const ir::ValueId x = node.inputs[1 - root];
    const ir::ValueId sum = RootOf(editor, node.inputs[root], node.op == "Div"_op ? 0.5 : -0.5);
    if (sum == ir::kAbsent) continue;
    const std::optional<Offset> offset = ReadOffset(editor, sum);
    if (!offset || offset->offset < 0) continue;
    const auto axis = ReadMeanSquare(editor, offset->x, x);
    if (!axis) continue;
    const ir::ValueId centred = ReadCentred(editor, x, *axis);
    if (centred != ir::kAbsent) return Norm{centred, *axis, offset->offset, true};
    return Norm{x, *axis, offset->offset, false};
  }
  return std::nullopt;
}

/// Bounds the walk back from a value.
constexpr int kMostStepsBack = 8;

/// The last extent of what Reshape `node` makes, where its shape ends with a number.
std::optional<int64_t> LastOfReshape(const Editor& editor, const ir::Node& node) {
  ir::ValueId shape = node.inputs[1];
  if (const ir::Node* concat = editor.Producer(shape, "Concat"_op)) shape = concat->inputs.back();
  const auto ints = IntsOf(editor.graph(), shape);
  if (!ints || ints->empty() || ints->back() <= 0) return std::nullopt;
  return ints->back();
}

/// Whether the result's last extent is that of the first operand.
bool KeepsLastExtent(const ir::Node& node) {
  if (node.op == "Transpose"_op) {
    const std::vector<int64_t> perm = node.attributes.Ints("perm");
    return !perm.empty() && perm.back() == static_cast<int64_t>(perm.size()) - 1;
  }
  const bool is_unary = node.op->Has(ir::Trait::kElementwise) && node.inputs.size() == 1;
  return is_unary || node.op->Has(ir::Trait::kPointwise) || node.op == "LayerNormalization"_op ||
         node.op == "RMSNormalization"_op;
}

/// The last extent of a value at all shapes of the graph's inputs, where constants tell it.
std::optional<int64_t> LastExtent(const Editor& editor, ir::ValueId id,
                                  int steps = kMostStepsBack) {
  const std::optional<Shape>& shape = editor.value(id).shape;
  if (shape && shape->rank() > 0 && (*shape)[shape->rank() - 1] >= 0)
    return (*shape)[shape->rank() - 1];
  const ir::Node* node = editor.Producer(id);
  if (node == nullptr || steps == 0) return std::nullopt;
  if (KeepsLastExtent(*node)) return LastExtent(editor, node->inputs[0], steps - 1);
  if (node->inputs.size() < 2) return std::nullopt;
  if (node->op == "Reshape"_op) return LastOfReshape(editor, *node);
  if (node->op == "Add"_op || node->op == "Sub"_op || node->op == "Mul"_op) {
    // Operands whose last extent is not 1 have that of the result.
    for (const ir::ValueId input : {node->inputs[1], node->inputs[0]}) {
      const std::optional<int64_t> extent = LastExtent(editor, input, steps - 1);
      if (extent && *extent != 1) return extent;
    }
    return std::nullopt;
  }
  const bool gathers = node->op == "Gather"_op && node->attributes.Int("axis", 0) == 0;
  if (!gathers && node->op != "MatMul"_op) return std::nullopt;
  const Constant* matrix = ConstantOf(editor.graph(), node->inputs[gathers ? 0 : 1]);
  if (matrix == nullptr || matrix->shape().rank() < 2) return std::nullopt;
  return matrix->shape()[matrix->shape().rank() - 1];
}

/// Whether an operand of `shape` has at most the axes that are normalised, and is repeated along x
/// rather than x along it.
bool FitsInRows(const Editor& editor, const Shape& shape, const Norm& norm) {
  const ir::Value& x = editor.value(norm.x);
  if (!x.shape) return shape.rank() == 1 && LastExtent(editor, norm.x) == shape[0];
  if (shape.rank() > -norm.axis || shape.rank() > x.shape->rank()) return false;
  return std::equal(shape.begin(), shape.end(), x.shape->end() - shape.rank(),
                    [](int64_t own, int64_t of_x) { return own == 1 || own == of_x; });
}

/// The constant that the only reader of `value`, an `op`, combines with it, where that scales or
/// shifts rows; and that reader.
ir::NodeId ReadAffine(const Editor& editor, ir::ValueId value, ir::OpRef op, const Norm& norm,
                      ir::ValueId* constant) {
  const ir::NodeId reader = editor.OnlyReader(value);
  if (reader < 0 || editor.node(reader).op != op || editor.node(reader).inputs.size() != 2)
    return -1;
  const ir::Node& node = editor.node(reader);
  *constant = node.inputs[node.inputs[0] == value ? 1 : 0];
  const Constant* operand = ConstantOf(editor.graph(), *constant);
  if (operand == nullptr || operand->dtype() == DType::kF64 ||  // no kernel normalises those
      !FitsInRows(editor, operand->shape(), norm))
    return -1;
  return reader;
}

Status Rewrite(Editor& editor, ir::NodeId id, const Norm& norm) {
  if (editor.value(norm.x).dtype == DType::kF64) return OkStatus();
  ir::NodeId end = id;
  ir::ValueId scale = ir::kAbsent, bias = ir::kAbsent;
  ir::NodeId next = ReadAffine(editor, editor.node(end).outputs[0], "Mul"_op, norm, &scale);
  if (next >= 0) {
    end = next;
    next = -1;
    if (norm.centres) next = ReadAffine(editor, editor.node(end).outputs[0], "Add"_op, norm, &bias);
    if (next >= 0) end = next;
    if (next < 0) bias = ir::kAbsent;
  } else {
    const ir::Value& x = editor.value(norm.x);
    if (!x.has_concrete_shape() || !IsFloat(x.dtype)) return OkStatus();
    const int rank = x.shape->rank();
    const Shape tail(Dims(x.shape->end() + norm.axis, x.shape->end()));
    if (rank < -norm.axis) return OkStatus();
    ASSIGN_OR_RETURN(const Constant one, ConstantFrom(x.dtype, Shape{1}, {1.0}));
    scale = editor.AddConstant(Constant::Splat(x.dtype, tail, one.bytes()));
  }
  std::vector<ir::ValueId> operands = {norm.x, scale};
  if (norm.centres) operands.push_back(bias);
  editor.Replace(end, norm.centres ? "LayerNormalization"_op : "RMSNormalization"_op,
                 std::move(operands), {{"axis", norm.axis}, {"epsilon", norm.epsilon}});
  return OkStatus();
}

}  // namespace

Result<bool> FindLayerNorm(ir::Graph& graph) {
  if (!HasOp(graph, {"ReduceMean"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead || (editor.node(id).op != "Div"_op && editor.node(id).op != "Mul"_op))
      continue;
    if (const auto norm = ReadNorm(editor, editor.node(id)))
      RETURN_IF_ERROR(Rewrite(editor, id, *norm));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
