// What the outputs of a plan must keep of those that are right.
#pragma once

#include "planner/choices.h"
#include "runtime/session.h"
#include "tuner/network/accuracy.h"

namespace fettle::runtime {

/// Whether a step stores values beside the CPU as f16, or computes in 16 bits.
bool RoundsTo16Bits(const exec::StepProfile& step);

/// `limits`, relaxed to what 16 bits may cost below high precision, and to what exact kernels may
/// differ by in quantised networks.
tuner::AccuracyLimits LimitsFor(const ir::Graph& graph, planner::Precision precision,
                                tuner::AccuracyLimits limits = {});

/// tuner::CheckPlan over outputs of equal names.
tuner::PlanAccuracy CompareOutputs(const TensorMap& got, const TensorMap& want,
                                   const tuner::AccuracyLimits& limits);

}  // namespace fettle::runtime
