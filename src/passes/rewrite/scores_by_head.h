// Factors of attention scores that differ from head to head.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Mul of a MatMul's result by a constant with one factor for each matrix, on the way to a Softmax,
/// becomes Mul of the left operand, which has fewer elements: the cosine attention of Swin V2,
/// whose scores are then one group with their products. Needs all shapes. The sum of scaled terms
/// rounds otherwise than the scaled sum. True if anything changed.
Result<bool> ScaleQueriesByHead(ir::Graph& graph);

}  // namespace fettle::passes
