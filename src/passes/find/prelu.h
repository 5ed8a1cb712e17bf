// PRelu and LeakyRelu, spelled out.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Relu(x) plus a constant times the negative part of x becomes PRelu, or LeakyRelu where the
/// constant is one number. The negative part is written as x - Abs(x) (twice of it), Min(x, 0) or
/// -Relu(-x). True if anything changed.
Result<bool> FindPRelu(ir::Graph& graph);

}  // namespace fettle::passes
