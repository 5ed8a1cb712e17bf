// Operators that only move or select values, run on bytes.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Moves each DequantizeLinear of u8 or i8 behind an operator that moves values (Reshape,
/// Transpose, Slice, Split, Gather, Pad, Concat of equal parameters, nearest Resize ...) or selects
/// them (MaxPool, ReduceMax), and each QuantizeLinear before a Concat of unequal parameters. Bytes
/// are then moved, with the same results bit for bit. Moves that the parameters do not allow are
/// left out; ListMovedInFloat gives the reasons. True if anything changed.
Result<bool> MoveBytes(ir::Graph& graph);

/// An operator that MoveBytes leaves in floats though an operand of it is dequantised.
struct MovedInFloat {
  ir::NodeId node = -1;
  std::string reason;
};
std::vector<MovedInFloat> ListMovedInFloat(const ir::Graph& graph);

}  // namespace fettle::passes
