// Comparisons of a tensor with a number, as PackBits takes them.
#pragma once

#include "ir/graph.h"

namespace fettle::passes {

/// The next float above and below `value`, which is one.
double After(double value);
double Before(double value);

/// A tensor of floats compared with a number: sets "low" and "high", the interval where it holds,
/// and "lenient" as the node has it. False for anything else.
bool ReadComparison(const ir::Graph& graph, const ir::Node& node, ir::Attributes& attributes);

}  // namespace fettle::passes
