// Groups of a product of bits that end in the PackBits behind it.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Extends each of `groups` whose result a PackBits reads, directly or behind element-wise
/// operators with constants, by that PackBits. The group begins with a BinaryConv or BinaryMatMul,
/// or is a chain of element-wise operators. Where other nodes read the result too (the shortcut of
/// a residual block), it is an output beside the bits.
void ListBitGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
