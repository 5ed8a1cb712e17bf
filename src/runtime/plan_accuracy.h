// What the outputs of a plan must keep of those that are right.
#pragma once

#include "planner/accuracy.h"
#include "planner/choices.h"
#include "runtime/session.h"

namespace fettle::runtime {

/// `limits`, relaxed to what f16 storage below high precision may cost, and to what exact kernels
/// may differ by in quantised networks.
planner::AccuracyLimits LimitsFor(const ir::Graph& graph, planner::Precision precision,
                                  planner::AccuracyLimits limits = {});

/// planner::CheckPlan over outputs of equal names.
planner::PlanAccuracy CompareOutputs(const TensorMap& got, const TensorMap& want,
                                     const planner::AccuracyLimits& limits);

}  // namespace fettle::runtime
