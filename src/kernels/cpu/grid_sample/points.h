// Sampling an image at points given by a grid: where each point lies, then what it reads.
#pragma once

#include <cstdint>

#include "kernels/match/point_map.h"

namespace fettle::kernels {

/// Points that are sampled together: their taps stay in the first-level cache.
inline constexpr int64_t kPointsPerBlock = 256;

/// Four taps of each point of a block: pixel (not element) indices inside the image, and weights, 0
/// where the tap lies outside.
struct PointTaps {
  alignas(64) int32_t index[4][kPointsPerBlock];
  alignas(64) float weight[4][kPointsPerBlock];
};

/// The taps of `count` points from their (x, y) pairs. Positions are computed in double: a pixel of
/// a large picture is a small step of the grid.
void FindTaps(const PointMap& map, const float* grid, int64_t count, PointTaps& taps);

/// Channels innermost: y[p * channels + c].
void SamplePixels(const PointTaps& taps, int64_t count, const float* image, int64_t channels,
                  float* y);

/// One channel plane: y[p].
void SamplePlane(const PointTaps& taps, int64_t count, const float* plane, float* y);

}  // namespace fettle::kernels
