// The linear maps of Winograd's minimal filtering F(m x m, 3 x 3): m^2 outputs of a 3x3 convolution
// from (m + 2)^2 products a channel pair instead of 9 m^2 (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015; interpolation points 0, 1, -1 and, for m = 4, 2, -2).
#pragma once

#include <cstdint>
#include <limits>

namespace fettle::kernels {

/// Points of the largest form.
inline constexpr int kMaxWinogradPoints = 36;

/// One window of pixels to its points. Pixels and points are counted row by row.
struct WinogradInput {
  /// Channels of a pixel are contiguous, and reading up to 64 bytes behind the last one must be
  /// allowed. Pixels in the padding point to zeros.
  const float* const* pixels = nullptr;
  int64_t channels = 0;
  float* out = nullptr;  // point p of channel c: out[p * point_stride + c]; whole vectors written
  int64_t point_stride = 0;
};

/// Points to a tile of the result, plus bias, clamped.
struct WinogradOutput {
  const float* in = nullptr;  // point p of channel c: in[p * point_stride + c]
  int64_t point_stride = 0;
  const float* bias = nullptr;  // whole vectors readable
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  int64_t channels = 0;
  float* out = nullptr;  // the tile's first pixel
  int64_t row_stride = 0, pixel_stride = 0;
  int64_t rows = 0, columns = 0;  // of the tile, less at the borders
};

/// Filters to their points: those of `columns` output channels, a multiple of the vector's lanes.
struct WinogradFilters {
  const float* taps = nullptr;  // [channel][tap][column]: nine taps, row by row
  int64_t channels = 0;         // of the input
  int64_t columns = 0;
  float* out = nullptr;  // point p of channel c, column n: out[p * point_stride + c * columns + n]
  int64_t point_stride = 0;
};

/// F(m x m, 3 x 3) for the best instruction set at hand.
struct WinogradForm {
  int outputs = 0;  // m, per side of a tile
  void (*input)(const WinogradInput&) = nullptr;
  void (*output)(const WinogradOutput&) = nullptr;
  void (*filters)(const WinogradFilters&) = nullptr;

  int inputs() const { return outputs + 2; }
  int points() const { return inputs() * inputs(); }
};

/// `outputs` is 2 or 4.
WinogradForm GetWinogradForm(int outputs);

}  // namespace fettle::kernels
