// Functions of one byte, as tables.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Replaces every chain of element-wise operators, QuantizeLinear and DequantizeLinear that
/// computes a tensor of bytes from one tensor of bytes and numbers (Sigmoid, x * Sigmoid(x), Clip,
/// a scalar Mul, another scale) by a TableLookup. The oracle gives the 256 results, so the table is
/// exact for any chain. A table that changes no byte is removed. True if anything changed.
Result<bool> MakeByteTables(ir::Graph& graph);

}  // namespace fettle::passes
