// Matrix products whose left operand is constant.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// MatMul of constant matrices A [..., m, k] and a computed X [..., k, n] becomes the transpose of
/// the product of X's transpose and A's: kernels pack constants as right operands alone, and
/// nothing but the scalar reference computed it as written (the filters of a spectrogram,
/// projections that a model applies as W x). A Gemm without a bias likewise. Needs X's shape. True
/// if anything changed.
Result<bool> SwapConstantLeft(ir::Graph& graph);

}  // namespace fettle::passes
