// From a graph with concrete shapes to a plan: cover, order, states, conversions.
#pragma once

#include "device/cpu/cpu_device.h"
#include "exec/plan.h"
#include "planner/choices.h"

namespace fettle::planner {

/// Plans `graph`, all of whose values have concrete shapes. Graph inputs are bound by the caller
/// (row-major, external); graph outputs are wanted row-major in their own type. Fails with
/// kUnsupported where a node has no kernel.
Result<exec::Plan> MakePlan(const ir::Graph& graph, const Device& device, const Limits& limits);

}  // namespace fettle::planner
