// The loops of motion over blocks, for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::enhance {

/// Motion is found for blocks of 8x8 and judged, and blended, over the 16x16 around each.
inline constexpr int kStep = 8, kWindow = 16;

/// A window as the rounded mean of two, which are the same at whole and half samples.
template <typename Sample>
struct Source {
  const Sample *one, *other;
};

/// The sum of absolute differences of two windows of bytes.
uint32_t WindowError(const Source<uint8_t>& a, const Source<uint8_t>& b, ptrdiff_t stride);

/// What a window adds to the picture between, as much from one as from the other.
struct Blending {
  const uint8_t* weights;  // of 256 samples, row after row
  int scale;
};
/// Adds twice the samples by their weights to `sums` and `totals`, of `row` numbers a row: samples
/// are 8 bits, or 10 to 16 where words.
void BlendWindow(const Source<uint8_t>& a, const Source<uint8_t>& b, ptrdiff_t stride,
                 const Blending& how, float* sums, float* totals, ptrdiff_t row);
void BlendWindow(const Source<uint16_t>& a, const Source<uint16_t>& b, ptrdiff_t stride,
                 const Blending& how, float* sums, float* totals, ptrdiff_t row);

/// Rows at half samples by six taps (1 -5 20 20 -5 1): `to[x]` lies between from[x] and
/// from[x + step].
void HalfRow(const uint8_t* from, ptrdiff_t step, int count, int most, uint8_t* to);
void HalfRow(const uint16_t* from, ptrdiff_t step, int count, int most, uint16_t* to);

/// Means of 2x2.
void HalveRow(const uint8_t* upper, const uint8_t* lower, int count, uint8_t* to);

}  // namespace fettle::enhance
