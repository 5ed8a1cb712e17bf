// Dequantised constants that no kernel reads as integers.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Makes a constant of every DequantizeLinear of constants whose reader computes in floats: neither
/// do integers meet integers there, nor is it a product that reads weights of few bits
/// (ops::ReadWeightOnly). Elements are computed when they are packed and take no memory before.
/// True if anything changed.
Result<bool> FoldWeights(ir::Graph& graph);

}  // namespace fettle::passes
