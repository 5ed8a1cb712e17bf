// F(2x2, 3x3) of Winograd's algorithm in whole numbers, exactly: filters are four times their
// points, so that all of them are integers, and sums are shifted back. After Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks" (2015). AVX2.
#pragma once

#include <cstdint>

#include "kernels/cpu/quantised/pack.h"

namespace fettle::kernels {

/// Points of a tile of 2 x 2 outputs, and output channels of a panel.
inline constexpr int64_t kWinogradPoints = 16, kWinogradColumns = 16;

/// Input channels up to which four times a sum stays below 2^31.
inline constexpr int64_t kMostWinogradChannels = (int64_t{1} << 29) / (9 * 255 * 255);

/// Writes the panels of `layout`, whose taps are the points.
void PackWinograd(const QuantLayout& layout, const QuantConstants& constants, std::byte* blob);

struct ByteWinogradInput {
  const uint8_t* x = nullptr;        // the first of 4 x 4 pixels
  const int64_t* offsets = nullptr;  // of the 16 of them
  int64_t channels = 0;              // up to 15 bytes behind those of a pixel are read
  int16_t zero = 0;
  int16_t* points = nullptr;  // 32-byte aligned, whole vectors of channels each
  int64_t point_step = 0;     // elements from point to point
};
/// The points of a tile's pixels less their zero point: sums of four.
void TransformByteInput(const ByteWinogradInput& args);

struct ByteWinogradOutput {
  const int32_t* points = nullptr;  // [point][tile][kWinogradColumns]
  int64_t point_step = 0;           // elements from point to point
  int64_t tiles = 0;
  /// Two lines of 2 * tiles pixels of kWinogradColumns columns.
  int32_t* upper = nullptr;
  int32_t* lower = nullptr;
};
/// Sums of products of points to those of pixels.
void TransformByteOutput(const ByteWinogradOutput& args);

}  // namespace fettle::kernels
