// Products of matrices that are computed once, at load; kernels have faster ones.
#pragma once

#include <cstdint>

namespace fettle {

/// Writes C [m, n] = A [m, k] * B [k, n], all dense and row-major, in sums of floats over k in
/// order. C overlaps neither operand.
void MultiplyMatrices(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c);

}  // namespace fettle
