// The linear maps of Winograd's minimal filtering F(4x4, 3x3): 16 outputs of a 3x3 convolution from
// 36 products a channel pair instead of 144 (Lavin and Gray, "Fast Algorithms for Convolutional
// Neural Networks", 2015; interpolation points 0, 1, -1, 2, -2).
#pragma once

#include <cstdint>
#include <limits>

namespace fettle::kernels {

inline constexpr int kWinogradOutputs = 4;  // per side of a tile
inline constexpr int kWinogradInputs = 6;
inline constexpr int kWinogradPoints = kWinogradInputs * kWinogradInputs;

/// One 6x6 window of a channels-last tensor to its 36 points.
struct WinogradInput {
  /// The window's pixels, row by row; channels are contiguous, and reading up to 64 bytes behind
  /// the last one must be allowed. Pixels in the padding point to zeros.
  const float* const* pixels = nullptr;
  int64_t channels = 0;
  float* out = nullptr;  // point p of channel c: out[p * point_stride + c]; whole vectors written
  int64_t point_stride = 0;
};

/// 36 points to a 4x4 tile of the result, plus bias, clamped.
struct WinogradOutput {
  const float* in = nullptr;  // point p of channel c: in[p * point_stride + c]
  int64_t point_stride = 0;
  const float* bias = nullptr;  // whole vectors readable
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  int64_t channels = 0;
  float* out = nullptr;  // the tile's first pixel
  int64_t row_stride = 0, pixel_stride = 0;
  int64_t rows = kWinogradOutputs, columns = kWinogradOutputs;  // less at the borders
};

/// The transforms for the best instruction set at hand.
struct WinogradTransforms {
  void (*input)(const WinogradInput&) = nullptr;
  void (*output)(const WinogradOutput&) = nullptr;
};
const WinogradTransforms& GetWinogradTransforms();

/// `count` filters at once: taps[t * count + i] is tap t (row by row, 9 of them) of filter i, point
/// p of filter i goes to out[p * out_stride + i].
void TransformWinogradFilters(const float* taps, int64_t count, float* out, int64_t out_stride);

}  // namespace fettle::kernels
