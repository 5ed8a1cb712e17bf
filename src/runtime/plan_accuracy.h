// What the outputs of a plan must keep of those that are right.
#pragma once

#include "planner/choices.h"
#include "runtime/session.h"
#include "tuner/network/accuracy.h"

namespace fettle::runtime {

/// `limits`, relaxed to what f16 storage below high precision may cost, and to what exact kernels
/// may differ by in quantised networks.
tuner::AccuracyLimits LimitsFor(const ir::Graph& graph, planner::Precision precision,
                                tuner::AccuracyLimits limits = {});

/// tuner::CheckPlan over outputs of equal names.
tuner::PlanAccuracy CompareOutputs(const TensorMap& got, const TensorMap& want,
                                   const tuner::AccuracyLimits& limits);

}  // namespace fettle::runtime
