// Fewer conversions between groups whose states were chosen one after the other.
#pragma once

#include <vector>

#include "planner/cover.h"

namespace fettle::planner {

/// `chosen` has a choice for each group of `cover`. Group by group in `order`, takes another choice
/// of the same taste on the same device where all conversions around the group then cost less,
/// until no change of a single group helps. Only for kernels beside the CPU: there each conversion
/// is a launch, which costs as much as moving megabytes.
void TakeFewerConversions(const ir::Graph& graph, const Cover& cover,
                          const std::vector<size_t>& order, std::vector<const Choice*>& chosen);

}  // namespace fettle::planner
