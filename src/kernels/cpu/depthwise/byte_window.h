// Rows of depthwise convolutions from bytes to bytes by products of 16-bit words. AVX2.
#pragma once

#include "kernels/cpu/depthwise/row.h"

namespace fettle::kernels {

/// Whether RunByteWindow takes `row`, whose weights are whole numbers of 16 bits: kernels of 3 and
/// 5 columns without dilation and of up to 5 rows, and whole vectors of channels but for the last.
bool TakesByteWindow(const DepthwiseRow& row);
/// RunDepthwiseRow of such a row. Sums are exact. Only where CpuInfo says avx2.
void RunByteWindow(const DepthwiseRow& row);

}  // namespace fettle::kernels
