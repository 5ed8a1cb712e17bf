// Samples the points of a deformable convolution between pixels.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Output pixels that are sampled together.
inline constexpr int64_t kDeformPoints = 64;

/// One tap of the kernel: its distance in pixels of the input from a point's base, and for each
/// point its offset and, unless null, its factor.
struct DeformTap {
  int64_t height, width;  // of the input
  float down, right;
  const float* rows;
  const float* columns;
  const float* mask;
};

/// Bases of points: the place of the kernel's first tap without padding and offsets.
struct DeformBases {
  alignas(64) float row[kDeformPoints] = {};
  alignas(64) float column[kDeformPoints] = {};
};

/// Four pixels around each point, their factors included; one outside is pixel height * width.
struct DeformCorners {
  alignas(64) int32_t pixel[4][kDeformPoints];
  alignas(64) float weight[4][kDeformPoints];
};

/// Of the first `count` points.
void FindDeformCorners(const DeformTap& tap, const DeformBases& bases, int64_t count,
                       DeformCorners& corners);

/// y[p * stride + c] of `count` points for an image of `channels` neighbouring elements a pixel,
/// with a pixel of zeros behind its last one.
void SampleDeform(const DeformCorners& corners, int64_t count, const float* image, int64_t channels,
                  float* y, int64_t stride);

}  // namespace fettle::kernels
