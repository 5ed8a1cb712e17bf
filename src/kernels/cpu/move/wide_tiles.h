// Transposing a matrix by vectors of more than 16 bytes.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// dst[c * dst_stride + r] = src[r * src_stride + c] for all columns c and the first rows r, whose
/// number is returned: all of them, but the last ones where columns are fewer than 16 bytes, or
/// none where they fill no vector, or others are as fast. `far`: asks for memory ahead.
int64_t TransposeWide(const void* src, int64_t src_stride, void* dst, int64_t dst_stride,
                      int64_t rows, int64_t columns, int64_t bytes, bool far);

}  // namespace fettle::kernels
