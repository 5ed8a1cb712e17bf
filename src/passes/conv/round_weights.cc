#include "passes/conv/round_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/op.h"
#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

/// Smaller constants are no matter.
constexpr int64_t kLeastElements = 1024;

/// The axis of a product's weights that counts its outputs; -1: no product.
int OutputAxis(const ir::Node& node, const Shape& weights) {
  if (node.op == "Conv"_op) return 0;
  if (node.op == "ConvTranspose"_op) return 1;
  if (node.op == "Gemm"_op) return node.attributes.Int("transB") != 0 ? 0 : 1;
  return node.op == "MatMul"_op ? weights.rank() - 1 : -1;
}

/// Nothing where a number is beyond the form's range.
std::optional<double> SignalToNoise(const Constant& exact, const Constant& rounded) {
  double signal = 0, noise = 0;
  for (int64_t i = 0; i < exact.elements(); ++i) {
    const double value = exact.GetDouble(i), error = rounded.GetDouble(i) - value;
    if (!std::isfinite(error)) return std::nullopt;
    signal += value * value;
    noise += error * error;
  }
  return noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

}  // namespace

Result<RoundedWeights> RoundWeights(ir::Graph& graph, CompactForm form) {
  RoundedWeights result{.least_db = std::numeric_limits<double>::infinity()};
  for (const ir::Node& node : graph.nodes()) {
    if (node.dead || node.inputs.size() < 2 || node.inputs[1] == ir::kAbsent) continue;
    ir::Value& value = graph.value(node.inputs[1]);
    if (!value.is_constant() || value.dtype != DType::kF32 || value.constant->is_splat() ||
        value.constant->elements() <= kLeastElements)
      continue;
    const Constant& exact = *value.constant;
    const int axis = OutputAxis(node, exact.shape());
    if (axis < 0 || axis >= exact.shape().rank() || FindCompact(exact)) continue;
    const CompactLayout layout = form == CompactForm::kHalves
                                     ? CompactLayout{}
                                     : CompactLayout::Along(form, exact.shape(), axis);
    ASSIGN_OR_RETURN(const Tensor packed, PackCompact(exact, layout));
    Constant rounded = FromCompact(exact.shape(), layout, Constant::FromTensor(packed));
    const std::optional<double> db = SignalToNoise(exact, rounded);
    if (!db) continue;
    ++result.count;
    result.least_db = std::min(result.least_db, *db);
    value.constant = std::make_shared<const Constant>(std::move(rounded));
  }
  return result;
}

}  // namespace fettle::passes
