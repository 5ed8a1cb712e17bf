// The quantised sum of two bytes as two multiply-adds, where that rounds to the same.
#pragma once

#include <optional>

#include "kernels/cpu/quantised_elementwise/pair_row.h"

namespace fettle::kernels {

/// The graph computes the sum in two products, a sum and a quotient. Nothing where no factors near
/// the quotients of the scales give the same result for each of the 65,536 pairs of bytes.
std::optional<FusedSum> FindFusedSum(const PairRowArgs& sum);

}  // namespace fettle::kernels
