// Turns counts of differing bits into the results of a product of bits: numbers, or bits again.
#pragma once

#include <cstdint>

#include "kernels/cpu/binary/tile.h"

namespace fettle::kernels {

/// The parts of a sum, for each output of a panel: differing bits, ones of the pixel, ones of the
/// weights, and all pairs. Every partial sum is exact, so their order does not matter; `bias` is
/// added last.
struct FloatPanel {
  double differ[kBitOutputs], x_ones[kBitOutputs], w_ones[kBitOutputs], pairs[kBitOutputs];
  double bias[kBitOutputs];
  /// Where results are Form::kScaled.
  float scale[kBitOutputs];
};

/// What results are made of: all of FloatPanel; not of x_ones and w_ones, which are 0;
/// scale * (pairs - 2 * differ), both factors exact in float; or, so too, scale * (w_ones -
/// differ).
enum class FloatForm : int64_t { kAny, kPlain, kScaled, kOnes };

/// A bit is low <= s <= high.
struct LimitPanel {
  int32_t low[kBitOutputs], high[kBitOutputs];
};

/// The integer s of all outputs: the sum of these times the counts, then >> shift.
struct LimitFactors {
  int32_t differ = -2, x_ones = 0, w_ones = 0, pairs = 1;
  int shift = 0;
};

/// A panel of the pixels of a task. Weights meet zeros where a tap lies outside of the image:
/// `differ` has their ones too much, which `border` counts by the class of the pixel.
struct BitSums {
  int64_t pixels = 0;
  const int32_t* differ = nullptr;  // [pixel][stride], kBitOutputs of each
  int64_t stride = kBitOutputs;
  const int32_t* classes = nullptr;  // [pixel]
  const int32_t* border = nullptr;   // [class][border_stride], kBitOutputs of each
  int64_t border_stride = 0;
  const int32_t* w_ones = nullptr;                    // [kBitOutputs], of all taps
  const int32_t *x_ones = nullptr, *pairs = nullptr;  // [pixel], of taps inside

  const int32_t* OfPixel(int64_t p) const { return differ + p * stride; }
  const int32_t* Outside(int64_t p) const { return border + classes[p] * border_stride; }
};

/// Writes the first `columns` results of each pixel, `stride` floats apart.
void StoreFloats(const BitSums& sums, const FloatPanel& panel, FloatForm form, float* y,
                 int64_t stride, int64_t columns);

/// Writes a byte for each pixel, `stride` bytes apart: the first output's bit is bit 0.
void StoreBits(const BitSums& sums, const LimitPanel& panel, const LimitFactors& factors,
               uint8_t* y, int64_t stride);

}  // namespace fettle::kernels
