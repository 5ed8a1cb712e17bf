// Softmax of rows in memory.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// One contiguous row of `n` elements; y may be x.
void SoftmaxRow(const float* x, float* y, int64_t n, bool log);

/// `rows` contiguous rows of few elements each, one behind the other; y may be x.
void SoftmaxShortRows(const float* x, float* y, int64_t rows, int64_t n);

/// `columns` rows side by side: element r of row i lies at r * stride + i. y may be x.
void SoftmaxColumns(const float* x, float* y, int64_t n, int64_t stride, int64_t columns, bool log);

}  // namespace fettle::kernels
