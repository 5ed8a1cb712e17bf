// Groups of a product of bits that end in the bits of what follows it.
#pragma once

#include <vector>

#include "passes/graph_index.h"
#include "passes/groups.h"

namespace fettle::passes {

/// Adds, for each of `groups` that begins with a BinaryConv or BinaryMatMul, or is a chain of
/// element-wise operators behind something else, and whose result PackBits reads, directly or
/// behind element-wise operators with constants, the group with that PackBits. Where others read
/// the result too (the shortcut of a residual block), it is an output beside the bits.
void ListBitGroups(const GraphIndex& index, std::vector<Group>& groups);

}  // namespace fettle::passes
