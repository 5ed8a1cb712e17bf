// Einsum as matrix products.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Spells each Einsum whose operands have concrete shapes as transposes, sums and products of two
/// operands at a time: any number of operands, batch, summed and kept labels, labels that stand
/// twice in a term (diagonals), ellipses and extents of 1 that are broadcast. What is empty stays
/// an Einsum. Operands are paired greedily by their multiply-adds, as opt_einsum's greedy path
/// does.
Result<bool> SpellEinsum(ir::Graph& graph);

}  // namespace fettle::passes
