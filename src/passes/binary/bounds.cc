#include "passes/binary/bounds.h"

#include <algorithm>
#include <limits>

#include "ops/op.h"
#include "passes/binary/pieces.h"
#include "passes/binary/thresholds.h"
#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

using Ends = std::array<double, 2>;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();
/// Operators that bounds are followed through.
constexpr int kMaxDepth = 16;

/// The operator's results for two numbers, in order.
std::optional<Ends> At(const ir::Graph& graph, const ir::Node& node, ir::ValueId operand,
                       const Ends& bounds) {
  const Result<Constant> ends = ConstantFrom(DType::kF32, Shape{2}, {bounds[0], bounds[1]});
  if (!ends.ok()) return std::nullopt;
  std::vector<Tensor> operands(node.inputs.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const ir::ValueId id = node.inputs[i];
    if (id == ir::kAbsent) continue;
    Result<Constant> constant = *ends;
    if (id != operand) {
      const std::optional<double> number = UniformValue(*graph.value(id).constant);
      if (!number) return std::nullopt;
      constant = ConstantFrom(graph.value(id).dtype, Shape(), {*number});
    }
    if (!constant.ok()) return std::nullopt;
    Result<Tensor> tensor = constant->ToTensor();
    if (!tensor.ok()) return std::nullopt;
    operands[i] = *std::move(tensor);
  }
  const Result<std::vector<Tensor>> results = ops::Evaluate(node, operands);
  if (!results.ok() || (*results)[0].shape() != Shape{2} || (*results)[0].dtype() != DType::kF32)
    return std::nullopt;
  const HostView view = (*results)[0].view();
  const double first = view.GetDouble(0), second = view.GetDouble(1);
  if (first != first || second != second) return std::nullopt;
  return Ends{std::min(first, second), std::max(first, second)};
}

std::optional<Ends> BoundsAt(const ir::Graph& graph, const ProducerList& producers, ir::ValueId id,
                             int depth) {
  const ir::NodeId producer = producers[id];
  if (producer < 0 || graph.value(id).dtype != DType::kF32) return std::nullopt;
  const ir::Node& node = graph.node(producer);
  if (node.op == "Sigmoid"_op || node.op == "HardSigmoid"_op) return Ends{0, 1};
  if (node.op == "Tanh"_op) return Ends{-1, 1};
  // Infinite ends, where the operator itself bounds what it reads.
  const bool bounds_itself =
      node.op == "Clip"_op || node.op == "Relu"_op || node.op == "Max"_op || node.op == "Min"_op;
  ir::ValueId operand = ir::kAbsent;
  for (ir::ValueId input : node.inputs) {
    if (input != ir::kAbsent && !graph.value(input).is_constant()) operand = input;
  }
  if (operand == ir::kAbsent || !IsMonotone(graph, node, operand, false)) return std::nullopt;
  std::optional<Ends> bounds;
  if (depth > 0) bounds = BoundsAt(graph, producers, operand, depth - 1);
  if (!bounds && bounds_itself) bounds = Ends{-kUnbounded, kUnbounded};
  return bounds ? At(graph, node, operand, *bounds) : std::nullopt;
}

const ir::Node* ProducerOf(const ir::Graph& graph, const ProducerList& producers, ir::ValueId id) {
  return id == ir::kAbsent || producers[id] < 0 ? nullptr : &graph.node(producers[id]);
}

bool IsNumber(const ir::Graph& graph, ir::ValueId id, double number) {
  const Constant* constant = ConstantOf(graph, id);
  return constant != nullptr && UniformValue(*constant) == number;
}

/// The value whose sign `id` is; kAbsent where it is none.
ir::ValueId SignedBy(const ir::Graph& graph, const ProducerList& producers, ir::ValueId id) {
  const ir::Node* node = ProducerOf(graph, producers, id);
  if (node == nullptr) return ir::kAbsent;
  if (node->op == "Sign"_op) return node->inputs[0];
  if (node->op != "Where"_op) return ir::kAbsent;
  const ir::Node* decision = ProducerOf(graph, producers, node->inputs[0]);
  if (decision == nullptr || decision->inputs.size() != 2 ||
      !IsNumber(graph, decision->inputs[1], 0))
    return ir::kAbsent;
  const bool rises = decision->op == "GreaterOrEqual"_op || decision->op == "Greater"_op;
  const bool falls = decision->op == "LessOrEqual"_op || decision->op == "Less"_op;
  const double then = rises ? 1 : -1;
  if ((!rises && !falls) || !IsNumber(graph, node->inputs[1], then) ||
      !IsNumber(graph, node->inputs[2], -then))
    return ir::kAbsent;
  return decision->inputs[0];
}

/// Whether c is a number of [-2, 2] with the sign of v.
bool FollowsSign(const ir::Graph& graph, const ProducerList& producers, ir::ValueId c,
                 ir::ValueId v) {
  const ir::Node* node = ProducerOf(graph, producers, c);
  if (node == nullptr) return false;
  if (node->op != "Clip"_op && node->op != "Tanh"_op)
    return HasSignWithinTwo(graph, producers, c, v);
  const std::optional<Ends> bounds = BoundsOf(graph, producers, c);
  return bounds && (*bounds)[0] >= -2 && (*bounds)[0] <= 0 && (*bounds)[1] >= 0 &&
         (*bounds)[1] <= 2 && (v == c || v == node->inputs[0]);
}

}  // namespace

std::optional<Ends> BoundsOf(const ir::Graph& graph, const ProducerList& producers,
                             ir::ValueId id) {
  return BoundsAt(graph, producers, id, kMaxDepth);
}

ir::ValueId SkipEstimator(const ir::Graph& graph, const ProducerList& producers, ir::ValueId id) {
  const ir::Node* sum = ProducerOf(graph, producers, id);
  if (sum == nullptr || sum->op != "Add"_op || graph.value(id).dtype != DType::kF32) return id;
  for (size_t i = 0; i < 2; ++i) {
    const ir::Node* difference = ProducerOf(graph, producers, sum->inputs[i]);
    const ir::ValueId c = sum->inputs[1 - i];
    if (difference == nullptr || difference->op != "Sub"_op || difference->inputs[1] != c) continue;
    const ir::ValueId s = difference->inputs[0], v = SignedBy(graph, producers, s);
    if (v != ir::kAbsent && FollowsSign(graph, producers, c, v)) return s;
  }
  return id;
}

}  // namespace fettle::passes
