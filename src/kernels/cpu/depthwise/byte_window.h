// Rows of depthwise convolutions from bytes to bytes by products of 16-bit words. AVX2.
#pragma once

#include "kernels/cpu/depthwise/row.h"

namespace fettle::kernels {

/// Whether RunByteWindows takes `row`, whose weights are whole numbers of 16 bits: kernels of 3 and
/// 5 columns without dilation and of up to 5 rows, whole vectors of channels but for the last, and
/// four outputs.
bool TakesByteWindow(const DepthwiseRow& row);
/// RunDepthwiseRows of such rows. Sums are exact. Only where CpuInfo says avx2.
void RunByteWindows(std::span<const DepthwiseRow> rows);

}  // namespace fettle::kernels
