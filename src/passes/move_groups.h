// Operators in a row that only move elements.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Adds the groups "moves": from a computed value on, operators that move elements, up to the only
/// value that is read outside. Adds only the longest of each such row, and none whose members are
/// all Reshape.
void ListMoveGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
