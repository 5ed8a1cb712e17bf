// Transposed convolutions of two-valued tensors.
#pragma once

#include <string>

#include "passes/binary/two_valued.h"

namespace fettle::passes {

/// Makes each ConvTranspose with two-valued input and weights a Conv for each phase of its strides,
/// whose results Reshape and Transpose interleave, to the same sums: products that Binarise takes.
/// Shapes have to be known, output extents multiples of the strides; phases may not crop. True if
/// anything changed; the analysis is of the graph before.
Result<bool> SplitTransposed(ir::Graph& graph);

/// Why SplitTransposed leaves a ConvTranspose as it is.
std::string WhyNotSplit(const ir::Graph& graph, const TwoValuedAnalysis& analysis, ir::NodeId id);

}  // namespace fettle::passes
