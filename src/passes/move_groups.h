// Operators in a row that only move elements.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Adds the groups "moves": from one computed value on, operators that move elements, until one
/// value is all that others read of them; of each such row the longest, where not all of its
/// members are Reshape.
void ListMoveGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
