// Rotary embedding as products and sums of halves.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// RotaryEmbedding becomes the nodes that it stands for: what it turns, in two parts that are
/// multiplied by the cosines and sines of their positions and added, and what it leaves. Needs
/// known shapes; nodes that are given the position of the first element alone stay. True if
/// anything changed.
Result<bool> SpellRotary(ir::Graph& graph);

}  // namespace fettle::passes
