#include "passes/binary/thresholds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/op.h"
#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();
constexpr int32_t kHighest = std::numeric_limits<int32_t>::max();

/// The results of a chain for one sum per output.
class Chain {
 public:
  Chain(const ir::Graph& graph, const BinaryProduct& product, const std::vector<ir::NodeId>& nodes)
      : graph_(graph), product_(product), nodes_(nodes) {
    Dims dims(product.rank, 1);
    dims[1] = product.outputs;
    shape_ = Shape(dims);
  }

  /// Nothing where results are not numbers, or not one for each output.
  std::optional<std::vector<double>> At(const std::vector<int64_t>& sums) const {
    Result<Tensor> value = Tensor::Create(DType::kF32, shape_);
    if (!value.ok()) return std::nullopt;
    for (int64_t o = 0; o < product_.outputs; ++o) {
      value->as<float>()[o] =
          static_cast<float>(product_.scale[o] * static_cast<double>(sums[o]) + product_.bias[o]);
    }
    ir::ValueId running = product_.y;
    for (ir::NodeId id : nodes_) {
      const ir::Node& node = graph_.node(id);
      std::vector<Tensor> operands(node.inputs.size());
      for (size_t i = 0; i < operands.size(); ++i) {
        if (node.inputs[i] == ir::kAbsent) continue;
        if (node.inputs[i] == running) {
          operands[i] = *value;
          continue;
        }
        const Result<Tensor> constant = graph_.value(node.inputs[i]).constant->ToTensor();
        if (!constant.ok()) return std::nullopt;
        operands[i] = *constant;
      }
      const Result<std::vector<Tensor>> results = ops::Evaluate(node, operands);
      if (!results.ok() || (*results)[0].shape() != shape_) return std::nullopt;
      *value = (*results)[0];
      running = node.outputs[0];
    }
    std::vector<double> numbers(product_.outputs);
    for (int64_t o = 0; o < product_.outputs; ++o) {
      numbers[o] = value->view().GetDouble(o);
      if (!std::isfinite(numbers[o])) return std::nullopt;
    }
    return numbers;
  }

 private:
  const ir::Graph& graph_;
  const BinaryProduct& product_;
  const std::vector<ir::NodeId>& nodes_;
  Shape shape_;
};

/// The least sum of each output whose result is not that of the lowest sum.
std::optional<std::vector<int64_t>> FindSteps(const Chain& chain, const BinaryProduct& product,
                                              const std::vector<double>& first) {
  const int64_t count = (product.highest() - product.lowest()) / product.step();
  std::vector<int64_t> same(product.outputs, 0), other(product.outputs, count);
  std::vector<int64_t> sums(product.outputs);
  for (int64_t width = count; width > 0; width /= 2) {
    for (int64_t o = 0; o < product.outputs; ++o)
      sums[o] = product.lowest() + (same[o] + other[o]) / 2 * product.step();
    const auto at = chain.At(sums);
    if (!at) return std::nullopt;
    for (int64_t o = 0; o < product.outputs; ++o) {
      if (other[o] - same[o] <= 1) continue;
      ((*at)[o] == first[o] ? same : other)[o] = (same[o] + other[o]) / 2;
    }
  }
  for (int64_t o = 0; o < product.outputs; ++o)
    sums[o] = product.lowest() + other[o] * product.step();
  return sums;
}

/// The two values among all results, lower first.
std::optional<std::array<double, 2>> PairOf(std::initializer_list<std::vector<double>> results) {
  std::vector<double> values;
  for (const std::vector<double>& some : results)
    values.insert(values.end(), some.begin(), some.end());
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() != 2) return std::nullopt;
  return std::array<double, 2>{values[0], values[1]};
}

}  // namespace

bool IsMonotone(const ir::Graph& graph, const ir::Node& node, ir::ValueId operand,
                bool operand_is_two_valued) {
  int computed = 0;
  for (ir::ValueId id : node.inputs) {
    if (id != ir::kAbsent && !graph.value(id).is_constant()) ++computed;
  }
  if (computed != 1 || node.outputs.size() != 1) return false;
  const bool is_first = node.inputs[0] == operand;
  if (node.op == "Add"_op || node.op == "Sub"_op || node.op == "Mul"_op || node.op == "Max"_op ||
      node.op == "Min"_op || node.op == "Greater"_op || node.op == "GreaterOrEqual"_op ||
      node.op == "Less"_op || node.op == "LessOrEqual"_op)
    return true;
  if (!is_first) return false;
  if (node.op == "Where"_op || node.op == "Not"_op || node.op == "Cast"_op)
    return operand_is_two_valued;
  return node.op == "Div"_op || node.op == "BatchNormalization"_op || node.op == "Relu"_op ||
         node.op == "Clip"_op || node.op == "Sign"_op || node.op == "Neg"_op ||
         node.op == "Floor"_op || node.op == "Ceil"_op || node.op == "Round"_op;
}

std::optional<Thresholds> FindThresholds(const ir::Graph& graph, const BinaryProduct& product,
                                         const std::vector<ir::NodeId>& chain, std::string& why) {
  why = "results of sums are NaN";
  if (product.pairs >= int64_t{1} << 29) return std::nullopt;
  const Chain results(graph, product, chain);
  const std::vector<int64_t> lowest(product.outputs, product.lowest());
  const std::vector<int64_t> highest(product.outputs, product.highest());
  const auto first = results.At(lowest), last = results.At(highest);
  if (!first || !last) return std::nullopt;
  const auto steps = FindSteps(results, product, *first);
  if (!steps) return std::nullopt;
  const auto at = results.At(*steps);
  if (!at) return std::nullopt;
  const auto pair = PairOf({*first, *last});
  if (!pair) {
    why = "it has one value, or more than two";
    return std::nullopt;
  }
  Thresholds found{.low = (*pair)[0], .high = (*pair)[1], .low_sum = {}, .high_sum = {}};
  for (int64_t o = 0; o < product.outputs; ++o) {
    const bool rises = (*first)[o] < (*last)[o], is_high = (*first)[o] == found.high;
    if ((*first)[o] != (*last)[o] && (*at)[o] != (*last)[o]) {
      why = fmt::format("it is {} where the sum of output {} is {}", (*at)[o], o, (*steps)[o]);
      return std::nullopt;
    }
    const auto step = static_cast<int32_t>((*steps)[o]);
    const bool is_constant = (*first)[o] == (*last)[o];
    found.low_sum.push_back(is_constant ? (is_high ? kLowest : 1) : (rises ? step : kLowest));
    found.high_sum.push_back(is_constant ? (is_high ? kHighest : 0)
                                         : (rises ? kHighest : step - 1));
  }
  return found;
}

}  // namespace fettle::passes
