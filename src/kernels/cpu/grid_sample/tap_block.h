// Sampling an image of one to three axes at the points of a grid: which pixels each point reads and
// with what weight, then the sums.
#pragma once

#include <cstdint>

#include "ops/resize/op.h"

namespace fettle::kernels {

/// Axes of an image that points lie on, taps of a point along one of them, and along all.
inline constexpr int kMostSampledAxes = 3, kMostAxisTaps = 4, kMostTaps = 64;

/// How grid coordinates in [-1, 1] become pixels.
struct SampleMap {
  /// Position = coordinate * scale + shift.
  struct Axis {
    int64_t extent = 1;
    double scale = 1, shift = 0;
  };

  int axes = 2;
  Axis axis[kMostSampledAxes];  // the outermost first; a grid names the last one first
  ops::GridSampleAttributes how;

  int taps_of_axis() const {
    return how.mode == ops::ResizeMode::kNearest ? 1 : how.mode == ops::ResizeMode::kLinear ? 2 : 4;
  }
  int taps() const {
    int taps = 1;
    for (int i = 0; i < axes; ++i) taps *= taps_of_axis();
    return taps;
  }
  int64_t pixels() const {
    int64_t pixels = 1;
    for (int i = 0; i < axes; ++i) pixels *= axis[i].extent;
    return pixels;
  }
};

/// Points that are sampled together, whole vectors, so that their taps stay in the first-level
/// cache.
inline constexpr int kMostBlockPoints = 256, kBlockTaps = 4096;
inline int BlockPoints(int taps) {
  return taps * kMostBlockPoints <= kBlockTaps ? kMostBlockPoints : kBlockTaps / taps;
}

/// Tap t of point p lies at [t * BlockPoints(taps) + p]: a pixel inside the image, and its weight,
/// 0 where nothing is read. Behind the last point are taps of none.
struct TapBlock {
  alignas(64) int32_t pixel[kBlockTaps];
  alignas(64) float weight[kBlockTaps];
};

/// The taps of `count` points of `grid`, at most a block. Positions are computed in double: a pixel
/// of a large picture is a small step of the grid.
void FindBlockTaps(const SampleMap& map, const float* grid, int64_t count, TapBlock& block);

/// y[p * inner + i] of `count` points, for an image of `inner` neighbouring elements a pixel. What
/// has no weight is not multiplied: it may be infinite.
void SampleBlock(const TapBlock& block, int taps, int64_t count, const float* image, int64_t inner,
                 float* y);

}  // namespace fettle::kernels
