#include "passes/binary/comparison.h"

#include <cmath>
#include <limits>

#include "ops/op.h"
#include "passes/edit/constants.h"

namespace fettle::passes {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

}  // namespace

double After(double value) {
  return std::nextafter(static_cast<float>(value), std::numeric_limits<float>::infinity());
}
double Before(double value) {
  return std::nextafter(static_cast<float>(value), -std::numeric_limits<float>::infinity());
}

bool ReadComparison(const ir::Graph& graph, const ir::Node& node, ir::Attributes& attributes) {
  if (node.inputs.size() != 2) return false;
  const Constant* number = ConstantOf(graph, node.inputs[1]);
  if (number == nullptr || number->elements() != 1 || number->dtype() != DType::kF32) return false;
  const bool keeps_shape =
      number->shape().rank() <= 1 || KeepsShape(graph, *number, node.inputs[0]);
  const double bound = number->GetDouble(0);
  if (!keeps_shape || !std::isfinite(bound)) return false;
  double low = -kNoBound, high = kNoBound;
  if (node.op == "GreaterOrEqual"_op) {
    low = bound;
  } else if (node.op == "Greater"_op) {
    low = After(bound);
  } else if (node.op == "LessOrEqual"_op) {
    high = bound;
  } else if (node.op == "Less"_op) {
    high = Before(bound);
  } else {
    return false;
  }
  attributes.Set("low", low);
  attributes.Set("high", high);
  if (node.attributes.Int("lenient") != 0) attributes.Set("lenient", int64_t{1});
  return true;
}

}  // namespace fettle::passes
