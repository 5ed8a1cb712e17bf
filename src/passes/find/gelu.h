// Gelu, spelled out.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// x * (1 + Erf(x / sqrt(2))) / 2 becomes Gelu, and x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 *
/// x^3))) / 2 becomes Gelu{approximate="tanh"}, in any order of their factors. True if anything
/// changed.
Result<bool> FindGelu(ir::Graph& graph);

}  // namespace fettle::passes
