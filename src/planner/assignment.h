// Assigning states before anything is measured: which choice each group of a cover takes.
#pragma once

#include "planner/cover.h"
#include "planner/decision.h"

namespace fettle::planner {

/// Orders the groups of `cover` so that each runs after what it reads; fails with kInternal on a
/// cycle.
Result<std::vector<size_t>> ScheduleCover(const ir::Graph& graph, const Cover& cover);

/// Walks the groups in `order` and gives each its most preferred kernel, in the states that need
/// the fewest converted bytes, given the states in which its inputs already exist. Where groups run
/// beside the CPU it then removes conversions (fewer_conversions.h). A value is converted to a
/// state once, for all its readers. With several `threads`, steps that are too small to share run
/// on one.
Decision AssignStates(const ir::Graph& graph, const Cover& cover, const std::vector<size_t>& order,
                      int threads);

}  // namespace fettle::planner
