// Positions of extremes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace fettle::kernels {

struct ArgRule {
  bool max = true;
  bool last = false;  // of equal values, the last one counts
};

/// to[i] = the position r of the extreme of x[r * stride + i] over r < n, for i < columns. NaN is
/// more extreme than any number. n is below 2^24.
void ArgColumns(const ArgRule& rule, const float* x, int64_t n, int64_t stride, int64_t columns,
                int64_t* to);
/// The same of i8, u8, i32 or i64; a stride of 1 is that of one column.
void ArgIntegers(const ArgRule& rule, DType dtype, const std::byte* x, int64_t n, int64_t stride,
                 int64_t columns, int64_t* to);

}  // namespace fettle::kernels
