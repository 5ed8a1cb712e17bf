// Normalisations of rows behind what makes them.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Whether the node is a LayerNormalization or RMSNormalization by constants with one result.
bool NormalisesByConstants(const ir::Graph& graph, const ir::Node& node);

/// Adds the groups "normed": each of `groups` that is a product with what follows it element by
/// element, then views of its result and the LayerNormalization or RMSNormalization that reads it.
/// What others read of the result, too (a residual sum), is an output before the normalised rows.
void ListNormedGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
