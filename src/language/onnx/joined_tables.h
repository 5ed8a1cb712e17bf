// Tables of positions between which a model chooses.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::language {

/// Where an If chooses between two constant tables of cosines and two of sines, which rotations
/// alone read, both become one table, and positions of the second one lie behind the first one's:
/// nothing waits for the condition. What models for long contexts (LongRoPE) have. Others stay.
Status JoinTables(ir::Graph& graph);

}  // namespace fettle::language
