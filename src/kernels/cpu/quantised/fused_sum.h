// The quantised sum of two bytes as two multiply-adds, where that rounds to the same.
#pragma once

#include <optional>

#include "kernels/cpu/quantised_elementwise/pair_row.h"

namespace fettle::kernels {

/// Nothing where no factors near the quotients of the scales give the sum of each of the 65,536
/// pairs of bytes as the graph computes it, in two products, a sum and a quotient.
std::optional<FusedSum> FindFusedSum(const PairRowArgs& sum);

}  // namespace fettle::kernels
