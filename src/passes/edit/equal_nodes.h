// Whether two nodes, of one graph or of two, compute the same from the same operands.
#pragma once

#include "ir/graph.h"

namespace fettle::passes {

/// Larger constants are compared by address alone.
inline constexpr size_t kComparedBytes = 4096;

/// Whether both are known to hold the same elements.
bool SameConstant(const Constant& a, const Constant& b);
/// Whether both are of one kind and value; sub-graphs by address.
bool SameAttributes(const ir::Attributes& a, const ir::Attributes& b);

}  // namespace fettle::passes
