// Attention over a cache, with what turns its queries and keys.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

void ListRotaryGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
