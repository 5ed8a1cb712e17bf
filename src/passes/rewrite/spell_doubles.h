// Operators of doubles in the steps that kernels compute of doubles.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Softmax, LogSoftmax, LayerNormalization, BatchNormalization, IsNaN and IsInf of f64 become
/// reductions, functions, arithmetic and comparisons: kernels of whole rows are those of fp32.
/// Needs concrete shapes; statistics as outputs stay.
Result<bool> SpellDoubles(ir::Graph& graph);

}  // namespace fettle::passes
