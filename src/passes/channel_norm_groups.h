// Normalisations of channels, which exporters spell with transposes around them.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Adds the groups "channels": LayerNormalization or RMSNormalization by constants behind a
/// Transpose, before one, or both, with a view beside each. Values between them have one reader.
void ListChannelNormGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
