// Softmax of rows in memory.
#pragma once

#include <cstdint>

namespace fettle::kernels {

enum class SoftmaxForm {
  kPlain,
  kLogarithm,
  kNanToZero,  // rows that would be NaN are 0
};

/// Rows of `n` elements without gaps; y may be x.
void SoftmaxRows(const float* x, float* y, int64_t rows, int64_t n, SoftmaxForm form);

/// Rows of 2 to kMostShortRow elements without gaps; not of logarithms. y may be x.
inline constexpr int64_t kMostShortRow = 4;
void SoftmaxShortRows(const float* x, float* y, int64_t rows, int64_t n, SoftmaxForm form);

/// Rows up to this length leave most of a vector empty: faster side by side, as SoftmaxColumns.
int64_t LongestShortRow();

/// `columns` rows side by side: element r of row i lies at r * stride + i. y may be x.
void SoftmaxColumns(const float* x, float* y, int64_t n, int64_t stride, int64_t columns,
                    SoftmaxForm form);

}  // namespace fettle::kernels
