// One row of output pixels of a MaxPool of bytes.
#pragma once

#include "kernels/cpu/pool/row.h"

namespace fettle::kernels {

/// PoolRow where plan.selects_bytes(): the input rows of the window become one of their maxima, in
/// `scratch` of MaxBytesScratch(plan) bytes, and that one its maxima over the width.
void MaxBytesRow(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                 std::byte* scratch);
int64_t MaxBytesScratch(const PoolPlan& plan);

}  // namespace fettle::kernels
