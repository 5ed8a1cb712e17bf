// Operators of doubles in the steps that kernels compute of doubles.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Softmax, LogSoftmax, LayerNormalization and BatchNormalization of f64 become reductions,
/// functions and arithmetic: kernels of whole rows are those of fp32. Needs concrete shapes;
/// statistics as outputs stay.
Result<bool> SpellDoubles(ir::Graph& graph);

}  // namespace fettle::passes
