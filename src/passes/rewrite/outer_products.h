// Matrix products that sum nothing.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// MatMul of [..., m, 1] and [..., 1, n] becomes Mul, which broadcasts to the same and is one step
/// with the element-wise nodes around it. Needs both shapes. Products of what is dequantised stay,
/// and so do those behind a Softmax, where kernels look for attention. True if anything changed.
Result<bool> OuterProductsToMul(ir::Graph& graph);

}  // namespace fettle::passes
