// The plan of a graph with concrete shapes before anything is measured.
#pragma once

#include "exec/plan.h"
#include "planner/choices.h"
#include "planner/decision.h"

namespace fettle::planner {

/// What the kernels' preferences say: a greedy cover, the most preferred kernels, few conversions.
/// Graph inputs are bound by the caller (row-major, external); graph outputs are wanted row-major
/// in their own type. Fails with kUnsupported where a node has no kernel.
Result<Decision> PreferredDecision(const ir::Graph& graph, const DeviceSet& devices,
                                   const Limits& limits);

/// The plan of PreferredDecision.
Result<exec::Plan> MakePlan(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits);

}  // namespace fettle::planner
