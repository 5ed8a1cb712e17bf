// Sums of products that are contractions.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// ReduceSum(Mul(a, b)) becomes an Einsum where the product has several times the elements of its
/// operands, because each is repeated along axes of the other: a matrix product that is written
/// out.
Result<bool> FindSummedProducts(ir::Graph& graph);

}  // namespace fettle::passes
