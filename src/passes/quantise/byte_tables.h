// Functions of one byte, as tables.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Puts a TableLookup in the place of every chain of element-wise operators, QuantizeLinear and
/// DequantizeLinear that makes a tensor of bytes of one other tensor of bytes and of numbers
/// (Sigmoid, x * Sigmoid(x), Clip, a scalar Mul, another scale). The 256 results come from the
/// oracle, so that the table is exact whatever the chain is; the table that changes no byte goes.
/// True if anything changed.
Result<bool> MakeByteTables(ir::Graph& graph);

}  // namespace fettle::passes
