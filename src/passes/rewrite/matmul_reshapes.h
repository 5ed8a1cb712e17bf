// Reshapes around a matrix product.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// MatMul by a constant matrix works on the last axis alone, so a Reshape behind it that keeps that
/// axis moves in front of it, where it meets the one that models have there. What follows then
/// joins the product. Needs known shapes. True if anything changed.
Result<bool> MoveReshapesBeforeMatMul(ir::Graph& graph);

}  // namespace fettle::passes
