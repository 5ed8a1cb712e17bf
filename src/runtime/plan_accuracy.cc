#include "runtime/plan_accuracy.h"

#include <algorithm>

namespace fettle::runtime {
namespace {

/// Integer rounding that falls differently in one layer moves the outputs of quantised networks by
/// whole steps; this is what two exact kernels may differ by there.
constexpr double kQuantisedSqnrDb = 20;

/// What storing values as f16 may cost: two plans round at different places.
constexpr double kHalfSqnrDb = 30;

bool IsQuantised(const ir::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const ir::Node& node) { return node.op->Has(ir::Trait::kQuantises); });
}

std::vector<Tensor> InOrder(const TensorMap& outputs) {
  std::vector<Tensor> ordered;
  for (const auto& [name, tensor] : outputs) ordered.push_back(tensor);
  return ordered;
}

}  // namespace

planner::AccuracyLimits LimitsFor(const ir::Graph& graph, planner::Precision precision,
                                  planner::AccuracyLimits limits) {
  if (limits.asked_db > 0) {
    limits.min_sqnr_db = limits.asked_db;
    return limits;
  }
  if (precision != planner::Precision::kHigh)
    limits.min_sqnr_db = std::min(limits.min_sqnr_db, kHalfSqnrDb);
  if (IsQuantised(graph)) limits.min_sqnr_db = std::min(limits.min_sqnr_db, kQuantisedSqnrDb);
  return limits;
}

planner::PlanAccuracy CompareOutputs(const TensorMap& got, const TensorMap& want,
                                     const planner::AccuracyLimits& limits) {
  return planner::CheckPlan(InOrder(got), InOrder(want), limits);
}

}  // namespace fettle::runtime
