// Assigning states before anything is measured: which choice each group of a cover takes.
#pragma once

#include "planner/cover.h"
#include "planner/decision.h"

namespace fettle::planner {

/// Orders the groups of `cover` so that each runs after what it reads; fails with kInternal on a
/// cycle.
Result<std::vector<size_t>> ScheduleCover(const ir::Graph& graph, const Cover& cover);

/// Walks the groups in `order` and gives each its most preferred kernel in the states that need the
/// fewest converted bytes, given the states its inputs already exist in; beside the CPU it then
/// takes fewer conversions (fewer_conversions.h). A value is converted to a state once, for all its
/// readers. With several `threads`, what is too small to share runs on one.
Decision AssignStates(const ir::Graph& graph, const Cover& cover, const std::vector<size_t>& order,
                      int threads);

}  // namespace fettle::planner
