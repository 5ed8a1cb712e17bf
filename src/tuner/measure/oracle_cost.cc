#include "tuner/measure/oracle_cost.h"

#include <algorithm>

#include "ops/macs.h"
#include "ops/norm/op.h"
#include "ops/op.h"
#include "ops/softmax/op.h"

namespace fettle::tuner {
namespace {

/// Of an element that is merely moved, or is a function of one other.
constexpr double kLeastPerElement = 4;
/// Times that an element of a row is looked at: offsets, one or two passes.
constexpr double kRowPasses = 3;

/// A set of elements that share sums, and whether they lie one behind the other.
struct SummedRow {
  double length = 0;
  bool contiguous = false;
};

SummedRow RowOf(const Shape& shape, const ops::AxisMask& mask) {
  SummedRow row{1, true};
  for (size_t axis = 0; axis < mask.size(); ++axis) {
    if (mask[axis]) row.length *= static_cast<double>(shape[static_cast<int>(axis)]);
    if (axis > 0 && mask[axis - 1] && !mask[axis]) row.contiguous = false;
  }
  return row;
}

/// Of the operators whose elements share sums with others of their output; of length 0 for others.
SummedRow RowOf(const ir::Node& node, const Shape& x) {
  if (node.op->Has(ir::Trait::kNormalises)) {
    const Result<ops::NormGroups> groups = ops::ReadNormGroups(node, x);
    return groups.ok() ? RowOf(groups->shape, groups->mask) : SummedRow();
  }
  if (node.op == "Softmax"_op || node.op == "LogSoftmax"_op || node.op == "Hardmax"_op) {
    const Result<ops::AxisMask> mask = ops::SoftmaxAxes(node, x.rank());
    return mask.ok() ? RowOf(x, *mask) : SummedRow();
  }
  return {};
}

}  // namespace

ReferenceCost CostOfReference(const ir::Graph& group, const ir::Node& node) {
  const auto count = [&](ir::ValueId id) {
    return id == ir::kAbsent ? 0.0 : static_cast<double>(group.value(id).shape->elements());
  };
  const double elements = std::max(count(node.output(0)), 1.0);
  ReferenceCost cost{.element = kLeastPerElement};
  if (const int64_t macs = ops::MacsOf(group, node); macs > 0)
    cost.element = static_cast<double>(macs) / elements;
  if (node.inputs.empty() || node.input(0) == ir::kAbsent) return cost;
  if (node.op->Has(ir::Trait::kReduces)) {
    const double length = count(node.input(0)) / elements;
    return {cost.element + length, length};
  }
  const SummedRow row = RowOf(node, *group.value(node.input(0)).shape);
  (row.contiguous ? cost.region : cost.element) += kRowPasses * row.length;
  return cost;
}

double GuessSteps(const ir::Graph& group, double whole) {
  constexpr double kSets = 3;
  double steps = 0;
  bool is_last = true;
  for (auto node = group.nodes().rbegin(); node != group.nodes().rend(); ++node) {
    if (node->output(0) == ir::kAbsent) continue;
    const ReferenceCost cost = CostOfReference(group, *node);
    const auto elements = static_cast<double>(group.value(node->output(0)).shape->elements());
    const double all = cost.element * elements + cost.region;
    const bool is_sampled = is_last && cost.element + cost.region > kLeastPerElement;
    steps += is_sampled ? std::min(all, whole + kSets * cost.region) : kSets * all;
    is_last = is_last && !is_sampled;
  }
  return steps;
}

}  // namespace fettle::tuner
