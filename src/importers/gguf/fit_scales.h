// Scales that leave the least squared error of numbers rounded to few bits.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace fettle::gguf {

/// The nearest whole number, for magnitudes below 2^22.
inline float NearestWhole(float x) { return (x + 12582912.0F) - 12582912.0F; }
inline float Clamped(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
inline float AsHalf(float x) { return static_cast<float>(Half(x)); }

/// Element i is scale * code + minimum; codes are whole numbers from `low` to `high`.
struct Grid {
  float scale = 0, minimum = 0;
  double error = 0;  // the sum of squares
};
/// What codes a grid may have, and what halves have to hold.
struct CodeRange {
  float low = 0, high = 0;
  bool halves = false;      // scale and minimum are of f16
  bool below_zero = false;  // the minimum is at most 0
};

/// `count` codes, a multiple of 8, at most 256.
void PutCodes(const float* x, int count, const Grid& grid, const CodeRange& range, float* codes);
/// The error of the nearest codes.
double ErrorOf(const float* x, int count, const Grid& grid, const CodeRange& range);
/// The best of several grids without minimum, each improved by turns as Lloyd's algorithm does: the
/// nearest codes for a scale, the least-squares scale for codes. `x` is finite, as everywhere here.
Grid FitScale(const float* x, int count, const CodeRange& range);
/// The same with a minimum; `low` is 0.
Grid FitScaleAndMinimum(const float* x, int count, const CodeRange& range);

}  // namespace fettle::gguf
