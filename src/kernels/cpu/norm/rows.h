// Statistics of rows and columns, and what normalises them.
#pragma once

#include <cstdint>

namespace fettle::kernels {

struct RowStatistics {
  float mean = 0;
  float variance = 0;  // of the population; the mean of squares where no mean is taken
};

/// Of rows of `n` elements without gaps. Two passes, so that a mean far from zero costs no digits.
/// Each is made over all rows before the next one: a row's chain of sums is longer than what the
/// processor sees at once.
void MeasureRows(const float* x, int64_t rows, int64_t n, bool takes_mean,
                 RowStatistics* statistics);
inline RowStatistics MeasureRow(const float* x, int64_t n, bool takes_mean) {
  RowStatistics statistics;
  MeasureRows(x, 1, n, takes_mean, &statistics);
  return statistics;
}

/// y = (x - mean) * a + b: a row without variance becomes b itself.
void ScaleShiftRow(const float* x, float* y, int64_t n, float mean, float a, float b);

/// y[i] = (x[i] - mean) * factor * scale[i] + bias[i]; `bias` may be null.
void NormaliseRow(const float* x, float* y, int64_t n, float mean, float factor, const float* scale,
                  const float* bias);

/// to[c] = sum over `rows` of (x[r * columns + c] - mean[c])^2.
void SquaredDeviations(const float* x, int64_t rows, int64_t columns, const float* mean, float* to);

/// y[r * columns + c] = (x[r * columns + c] - mean[c]) * a[c] + b[c].
void ScaleShiftColumns(const float* x, float* y, int64_t rows, int64_t columns, const float* mean,
                       const float* a, const float* b);

/// Local response: y = x * (bias + alpha / size * sum of squares)^-beta over the channels [c -
/// before, c + after] of element i of each channel; channels lie `stride` elements apart. For
/// `count` neighbouring elements.
struct ResponseWindow {
  int64_t channels = 0, before = 0, after = 0;
  float alpha = 0, beta = 0, bias = 0;  // alpha already divided by the size
};
void ResponseColumns(const ResponseWindow& window, const float* x, float* y, int64_t stride,
                     int64_t count);
/// The same for one pixel whose channels are neighbours; `squares` holds channels + before + after
/// elements of scratch.
void ResponsePixel(const ResponseWindow& window, const float* x, float* y, float* squares);

}  // namespace fettle::kernels
