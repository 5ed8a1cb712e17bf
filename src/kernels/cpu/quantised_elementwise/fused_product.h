// Rows of bytes where no operand is repeated, a vector of bytes at a time. The quantised product of
// two bytes is one multiplication of a whole number, where that rounds to the same.
#pragma once

#include "kernels/cpu/quantised_elementwise/pair_row.h"

namespace fettle::kernels {

/// A factor by which y = round((a - a_zero) * (b - b_zero) * factor) + y_zero, within the bounds of
/// y, is the product of each of the 65,536 pairs of bytes as the graph computes it, in three
/// products and a quotient. 0 where none is near the quotient of the scales, or where this machine
/// has no AVX2.
float FindProductFactor(const PairRowArgs& product);

/// Rows with such a factor, neither operand repeated. Only where CpuInfo says avx2.
void RunProductRowAvx2(const PairRowArgs& row);

/// The same of sums and differences that are PairRowArgs::fused, by any vectors (sum_row.cc).
void RunSumRow(const PairRowArgs& row);

/// What computes rows such as `row` where neither operand is repeated: one of these, or
/// FindPairRow.
PairRowFunction FindRowOfBoth(PairOp op, const PairRowArgs& row);

}  // namespace fettle::kernels
