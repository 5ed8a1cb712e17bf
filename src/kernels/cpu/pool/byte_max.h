// One row of output pixels of a MaxPool of bytes.
#pragma once

#include "kernels/cpu/pool/row.h"

namespace fettle::kernels {

/// PoolRow where plan.selects_bytes(): a vector holds as many channels as it has bytes.
void MaxBytesRow(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row);

}  // namespace fettle::kernels
