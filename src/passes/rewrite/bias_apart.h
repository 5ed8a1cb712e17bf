// Convolutions and products whose bias kernels do not take with their weights.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// The bias of a Conv, ConvTranspose or Gemm of floats becomes an Add behind it where kernels read
/// weights and bias from one packed constant, or neither: where one of them is constant and the
/// other is computed, where a Gemm's constant bias is no row of its output, and where the left
/// operand of a Gemm is constant. So do the factor and the bias of a Gemm of doubles or integers,
/// whose kernels multiply and do nothing else. Needs concrete shapes; elsewhere nothing changes.
Result<bool> AddBiasApart(ir::Graph& graph);

}  // namespace fettle::passes
