// Poolings of norms as averages.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// An LpPool of fp32 becomes an average of powers, times their number, and its root; a GlobalLpPool
/// of p 1 or 2 a reduction. Windows that ceil_mode lets pass the padding are left. Shapes must be
/// known.
Result<bool> SpellNormPools(ir::Graph& graph);

}  // namespace fettle::passes
