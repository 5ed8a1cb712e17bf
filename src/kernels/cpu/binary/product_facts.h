// Facts about a group that the CPU's kernels of BinaryConv and BinaryMatMul need before they are
// prepared.
#pragma once

#include <vector>

#include "kernels/cpu/binary/geometry.h"
#include "kernels/kernel.h"
#include "kernels/match/bits.h"

namespace fettle::kernels {

struct BitProductFacts : BitProduct {
  BitGeometry geometry;
  bool by_tables = false;
};

Result<BitProductFacts> ReadProduct(const ir::Graph& group, const Device& device);
/// The same for tables: below half a vector of pixels most look-ups would be wasted.
Result<BitProductFacts> ReadForTables(const ir::Graph& group, const Device& device);

/// Floats of convolutions lie channels last.
Result<std::vector<StateAssignment>> ProductStates(const ir::Graph& group,
                                                   const BitProductFacts& facts,
                                                   const Device& device);

}  // namespace fettle::kernels
