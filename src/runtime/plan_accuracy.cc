#include "runtime/plan_accuracy.h"

#include <algorithm>

#include "kernels/check/tolerance.h"

namespace fettle::runtime {
namespace {

/// Integer rounding that falls differently in one layer moves the outputs of quantised networks by
/// whole steps; this is what two exact kernels may differ by there.
constexpr double kQuantisedSqnrDb = 20;

/// What 16 bits may cost, as storage or as factors: two plans round at different places.
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

bool RoundsTo16Bits(const exec::StepProfile& step) {
  if (step.device != "cpu" && step.dtype == DTypeName(DType::kF16)) return true;
  const kernels::KernelDesc* kernel = planner::FindKernel(step.kernel);
  return kernel != nullptr && kernels::IsLossy(kernel->arithmetic);
}

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
