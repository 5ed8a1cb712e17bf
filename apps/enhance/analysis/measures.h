// Measures on the luma of one frame.
#pragma once

#include <array>
#include <cstdint>

#include "picture/samples.h"

namespace fettle::enhance {

/// Luma in 256 levels, whatever the depth.
using Histogram = std::array<uint32_t, 256>;
Histogram HistogramOf(const Plane& luma);
double MeanOf(const Histogram& histogram);
/// The level below which `share` of the pixels lie.
int PercentileOf(const Histogram& histogram, double share);
/// 0: the same lightness, 1: nothing in common.
double Difference(const Histogram& a, const Histogram& b);
/// Frames that differ by more belong to two scenes.
inline constexpr double kCut = 0.5;

/// Steps between columns and rows 8 apart over the steps at other places: 1 without visible blocks.
/// 1 for frames that are too small or too flat to tell.
double BlockinessOf(const Plane& luma);

/// Sigma, of 255, of white noise on the flattest tenth of the 16x16 blocks that are neither black
/// nor white (Immerkaer: Fast Noise Variance Estimation, 1996). 0 where there are none.
double NoiseOf(const Plane& luma);

/// The share of 16x16 blocks with at most two levels, but no more than four times the share of
/// blocks with at most 32 levels that span more than 64, as text does. A third on screens; less
/// than an eighth in camera video, although coarse coding makes its walls even too.
double ScreenShareOf(const Plane& luma);

bool SamePicture(const Plane& a, const Plane& b);

}  // namespace fettle::enhance
