// From counts of differing bits to what a product of bits gives: numbers, or bits again.
#pragma once

#include <cstdint>

#include "kernels/cpu/binary/tile.h"

namespace fettle::kernels {

/// What a sum is made of, for each output of a panel: that of differing bits, of the ones of the
/// pixel, of those of the weights, and of all pairs. Every partial sum is exact, so that their
/// order does not matter; `bias` is added last.
struct FloatPanel {
  double differ[kBitOutputs], x_ones[kBitOutputs], w_ones[kBitOutputs], pairs[kBitOutputs];
  double bias[kBitOutputs];
};

/// A bit is low <= s <= high.
struct LimitPanel {
  int32_t low[kBitOutputs], high[kBitOutputs];
};

/// The same for the integers s of all outputs: (... ) >> shift.
struct LimitFactors {
  int32_t differ = -2, x_ones = 0, w_ones = 0, pairs = 1;
  int shift = 0;
};

/// One panel of one pixel. Weights meet zeros where a tap lies outside of the image: `outside`
/// counts the ones of those taps.
struct BitPixel {
  const uint32_t* differ = nullptr;  // [kBitOutputs]
  const int32_t* w_ones = nullptr;   // of all taps
  const int32_t* outside = nullptr;  // null: no tap is
  int32_t x_ones = 0, pairs = 0;     // inside
};

/// Writes the first `columns` results.
using FloatResults = void (*)(const BitPixel& pixel, const FloatPanel& panel, float* y,
                              int64_t columns);
/// `plain`: the panels' x_ones and w_ones are 0.
FloatResults ChooseFloatResults(bool plain);

/// The bits of a panel, the first output's in bit 0.
uint8_t BitResults(const BitPixel& pixel, const LimitPanel& panel, const LimitFactors& factors);

}  // namespace fettle::kernels
