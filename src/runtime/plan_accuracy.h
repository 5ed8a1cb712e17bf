// What the outputs of a plan must keep of those that are right.
#pragma once

#include "planner/accuracy.h"
#include "planner/choices.h"
#include "runtime/session.h"

namespace fettle::runtime {

/// Whether a step stores values beside the CPU as f16, or computes in 16 bits.
bool RoundsTo16Bits(const exec::StepProfile& step);

/// `limits`, relaxed to what 16 bits may cost below high precision, and to what exact kernels may
/// differ by in quantised networks.
planner::AccuracyLimits LimitsFor(const ir::Graph& graph, planner::Precision precision,
                                  planner::AccuracyLimits limits = {});

/// planner::CheckPlan over outputs of equal names.
planner::PlanAccuracy CompareOutputs(const TensorMap& got, const TensorMap& want,
                                     const planner::AccuracyLimits& limits);

}  // namespace fettle::runtime
