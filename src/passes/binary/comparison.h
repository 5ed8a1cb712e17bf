// Comparisons of a tensor with a number, as PackBits takes them.
#pragma once

#include "ir/graph.h"

namespace fettle::passes {

/// The next float above and below `value`, which is a float.
double After(double value);
double Before(double value);

/// For a tensor of floats that is compared with a number: sets "low" and "high", the interval where
/// the comparison holds, and "lenient" as the node has it. False for any other node.
bool ReadComparison(const ir::Graph& graph, const ir::Node& node, ir::Attributes& attributes);

}  // namespace fettle::passes
