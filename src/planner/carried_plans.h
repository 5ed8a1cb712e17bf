// Default plans that are reused for other shapes.
#pragma once

#include <memory>

#include "passes/outline.h"
#include "planner/plan_source.h"

namespace fettle::planner {

/// PreferredPlans that remembers a bounded number of decisions. A segment takes the nearest
/// remembered decision of a segment with the same operators, edges and types, where each extent is
/// equal, or is above 1 in both and at most kCarriedRatio times as large or small. The kernels
/// match again, with parameters and threads for the new extents. Where a kernel refuses, or has
/// another taste for its group than before, the next nearest decision is tried, at most four of
/// them; then the segment is planned anew. Only decisions that were planned anew are remembered, so
/// plans do not drift. exec::Plan::carried_from names the source, as does the log at level info.
/// For the CPU alone; segments of other devices and of references are always planned.
///
/// A session's results for a shape may therefore round otherwise than if that shape had come first.
std::shared_ptr<PlanSource> CarriedPlans();

inline constexpr int64_t kCarriedRatio = passes::kNearRatio;

}  // namespace fettle::planner
