// Groups of products that share their rows.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Adds two to five BlockMatMul that read one value and are all that reads it: queries, keys and
/// values, gate and up; alone, and with the RMSNormalization or LayerNormalization that makes it.
/// Two or three MatMul of one row by constants with an RMSNormalization alone.
void ListSiblingGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
