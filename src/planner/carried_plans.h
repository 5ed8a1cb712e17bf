// Default plans that are carried from shape to shape.
#pragma once

#include <memory>

#include "passes/outline.h"
#include "planner/plan_source.h"

namespace fettle::planner {

/// PreferredPlans that remembers what it decided (a bounded number of decisions): a segment of the
/// same operators, edges and types whose extents are all equal to those of a remembered one, or
/// above 1 as those are and at most kCarriedRatio times as large or small, takes the decision of
/// the nearest. Its kernels are asked again, with parameters and threads for the new extents; where
/// one refuses, or likes its group more or less than it did, the next nearest is tried, four of
/// them at most, and then the segment is planned anew. Only what was planned anew is carried, so
/// plans do not drift. exec::Plan::carried_from says so, and the log at level info. For the CPU
/// alone; segments of other devices, and of references, are always planned.
///
/// What a session computes for a shape may so differ in rounding from what it would have computed
/// had that shape come first.
std::shared_ptr<PlanSource> CarriedPlans();

inline constexpr int64_t kCarriedRatio = passes::kNearRatio;

}  // namespace fettle::planner
