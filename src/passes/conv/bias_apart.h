// Convolutions of which one of weights and bias is constant.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// The bias of a Conv or ConvTranspose of floats becomes an Add behind it where one of weights and
/// bias is constant and the other is computed: kernels read both from one packed constant, or
/// neither. Needs concrete shapes; elsewhere nothing changes.
Result<bool> AddBiasApart(ir::Graph& graph);

}  // namespace fettle::passes
