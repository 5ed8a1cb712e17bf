// Element-wise operators among operators that move elements.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Adds the groups "views": from each result backwards, element-wise operators and operators that
/// move elements whose results members alone read, as many as there are up to kMaxGroupNodes; with
/// an element-wise member, and one that copies or several that do.
void ListViewGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
