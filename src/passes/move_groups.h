// Operators in a row that only move elements.
#pragma once

#include <vector>

#include "passes/groups.h"

namespace fettle::passes {

/// The groups "moves" of `graph`: from one computed value on, operators that move elements, until
/// one value is all that others read of them; of each such row the longest, where not all of its
/// members are Reshape.
std::vector<Group> ListMoveGroups(const ir::Graph& graph);

}  // namespace fettle::passes
