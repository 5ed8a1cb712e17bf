// Dequantised constants that no kernel reads as integers.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Makes every DequantizeLinear of constants whose reader computes in floats a constant. A reader
/// of integers on both sides, or a product with weights of few bits (ops::ReadWeightOnly), keeps
/// it. Elements are computed when they are packed and take no memory before. True if anything
/// changed.
Result<bool> FoldWeights(ir::Graph& graph);

}  // namespace fettle::passes
