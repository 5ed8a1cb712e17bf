// Normalisations of channels, which exporters write with transposes around them.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Adds the groups "channels": a LayerNormalization or RMSNormalization by constants behind a
/// Transpose, before one, or both, and views beside each. Each value between them has one reader.
void ListChannelNormGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
