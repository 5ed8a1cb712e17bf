// Transposed convolutions of two-valued tensors.
#pragma once

#include <string>

#include "passes/binary/two_valued.h"

namespace fettle::passes {

/// Splits each ConvTranspose with two-valued input and weights into a Conv for each phase of its
/// strides, whose results Reshape and Transpose interleave. The sums are the same, and Binarise
/// takes the Convs. Shapes must be known and output extents multiples of the strides; phases may
/// not crop. True if anything changed. The analysis is of the graph before.
Result<bool> SplitTransposed(ir::Graph& graph);

/// Why SplitTransposed leaves a ConvTranspose as it is.
std::string WhyNotSplit(const ir::Graph& graph, const TwoValuedAnalysis& analysis, ir::NodeId id);

}  // namespace fettle::passes
