// Normalisations of rows, with the operators that make the rows.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Whether the node is a LayerNormalization or RMSNormalization by constants with one result.
bool NormalisesByConstants(const ir::Graph& graph, const ir::Node& node);

/// Adds the groups "normed": each of `groups` that is a product with its element-wise operators,
/// then views of its result and the LayerNormalization or RMSNormalization that reads it. A result
/// that others read too (a residual sum) is an output before the normalised rows.
void ListNormedGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
