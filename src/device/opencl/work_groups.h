// Work-group sizes of OpenCL launches: rules of thumb, and the lists of candidates that tuners of
// other engines try. Pure functions of plain numbers; axis 0 is the fastest one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device/opencl/facts.h"

namespace fettle {

/// Work-items per axis, of a launch or of one work-group. The global size is rounded up to
/// multiples of the local one by OpenClStream::Launch.
using WorkShape = std::array<size_t, 3>;

/// What a work-group may be: items in all (the smaller of the device's and the kernel's limit) and
/// per axis.
struct WorkGroupLimits {
  int64_t items = 1;
  std::array<int64_t, 3> items_per_axis{1, 1, 1};
};
WorkGroupLimits LimitsOf(const OpenClFacts& facts, int64_t kernel_limit);

/// No axis is empty and the limits are kept.
bool Fits(const WorkShape& lws, const WorkGroupLimits& limits);

/// RowLws over the first two axes, of so many items that each compute unit has four groups: 32 to
/// 256.
WorkShape UnitLws(const WorkShape& gws, int compute_units, const WorkGroupLimits& limits);

/// Fills rows first, so that neighbours read neighbouring addresses: per axis the largest power of
/// two that leaves at most an eighth of its items idle, at most 64 in axis 0, `target` in all.
WorkShape RowLws(const WorkShape& gws, int64_t target, const WorkGroupLimits& limits);

/// MACE's rule for kernels over (channel blocks, width, rows): whole rows of axis 1, the others as
/// large as the cache allows (an item per 16 KiB). (1, 1, 1) where `limit` is 0 or an axis empty.
WorkShape CacheLws(const WorkShape& gws, int64_t limit, int64_t cache_bytes);

/// The lists below hold what the rule says, duplicates included.

/// MACE's: whole rows of axis 1 with fractions of the others. Empty where axis 1 passes the limit.
std::vector<WorkShape> RowCandidates3d(const WorkShape& gws, int64_t limit);
/// MACE's: (limit / 2^k, 2^k, 1) for k = 1..8, (limit, 1, 1) and (1, limit, 1).
std::vector<WorkShape> FullCandidates2d(int64_t limit);
/// MNN's lists over two axes: powers of two per axis, of 1x1 convolutions while at most twice the
/// axis or 4, of depthwise ones while at most the axis.
enum class MnnKernel : unsigned char { kConv1x1, kDepthwise };
std::vector<WorkShape> MnnCandidates(MnnKernel kernel, const WorkShape& gws,
                                     const WorkGroupLimits& limits);
/// MNN's default: per axis gws / (2 x units), or the largest divisor of gws below that, clipped to
/// what the axes before left over.
WorkShape MnnLws(const WorkShape& gws, int compute_units, const WorkGroupLimits& limits);

/// The Arm Compute Library's: powers of two up to 64x32x32, or {1, 2, 8} x {1, 2} x {1, 2}; within
/// the limits.
enum class ArmGrid : unsigned char { kNormal, kRapid };
std::vector<WorkShape> ArmCandidates(ArmGrid grid, const WorkGroupLimits& limits);

}  // namespace fettle
