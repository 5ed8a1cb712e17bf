// Sums of floats whose signs are bits: products with weights of two values, without
// multiplications.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Rows that are summed at once.
inline constexpr int kSignRows = 4;

/// sums[r] is the sum of x[i], taken with the other sign where bit i of row r is set; rows begin
/// `row_bytes` apart, bit i of a row is bit i % 8 of byte i / 8. The order of additions depends on
/// `count` and the instruction set alone.
void SumSigned(const float* x, int64_t count, const uint8_t* bits, int64_t row_bytes, float* sums);

/// The plain sum.
float SumOf(const float* x, int64_t count);

}  // namespace fettle::kernels
