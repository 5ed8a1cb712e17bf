// HardSigmoid and HardSwish, spelled out.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// clip(a * x + b, 0, c) / c, in any order of its factors, becomes HardSigmoid{alpha=a/c,
/// beta=b/c}. The clip may be Clip, or Min and Max. True if anything changed.
Result<bool> FindHardSigmoid(ir::Graph& graph);

/// x * HardSigmoid{alpha=1/6, beta=1/2}(x), and x * clip(x + 3, 0, 6) / 6 in any order of its
/// factors, become HardSwish. True if anything changed.
Result<bool> FindHardSwish(ir::Graph& graph);

}  // namespace fettle::passes
