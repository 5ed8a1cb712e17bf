// Tables of positions among which a model chooses.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::language {

/// Where an If chooses between two constant tables of cosines and two of sines that only rotations
/// read (models for long contexts, LongRoPE), joins each two into one table, with the second's
/// positions behind the first's, so that nothing waits for the condition. Other graphs do not
/// change.
Status JoinTables(ir::Graph& graph);

}  // namespace fettle::language
