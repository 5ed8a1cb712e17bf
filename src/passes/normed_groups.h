// Normalisations of rows behind what makes them.
#pragma once

#include <vector>

#include "passes/groups.h"

namespace fettle::passes {

/// The groups "normed" of `graph`: each of `groups` that is a product with what follows it element
/// by element, then views of its result and the LayerNormalization or RMSNormalization that reads
/// it. What others read of the result, too (a residual sum), is an output before the normalised
/// rows.
std::vector<Group> ListNormedGroups(const ir::Graph& graph, const std::vector<Group>& groups);

}  // namespace fettle::passes
