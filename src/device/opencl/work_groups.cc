#include "device/opencl/work_groups.h"

#include <algorithm>
#include <bit>

namespace fettle {
namespace {

constexpr int64_t kBytesPerCachedItem = 16384;
constexpr int64_t kRowItemsOfAxis0 = 64;

bool IsEmpty(const WorkShape& gws) {
  return std::any_of(gws.begin(), gws.end(), [](size_t extent) { return extent == 0; });
}

size_t RoundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The largest power of two <= most that leaves at most an eighth of the items idle; 8 always may.
size_t RowAxis(size_t extent, size_t most) {
  for (size_t size = std::min(std::bit_floor(most), std::bit_ceil(extent)); size > 1; size /= 2) {
    if (size <= 8 || RoundUp(extent, size) - extent <= extent / 8) return size;
  }
  return 1;
}

/// 1, 2, 4, ... while `keep` holds.
template <typename F>
std::vector<size_t> PowersOfTwoWhile(F keep) {
  std::vector<size_t> powers;
  for (size_t power = 1; keep(power); power *= 2) powers.push_back(power);
  return powers;
}

/// Every combination that fits.
std::vector<WorkShape> Combine(const std::array<std::vector<size_t>, 3>& axes,
                               const WorkGroupLimits& limits) {
  std::vector<WorkShape> shapes;
  for (const size_t z : axes[2]) {
    for (const size_t y : axes[1]) {
      for (const size_t x : axes[0])
        if (Fits({x, y, z}, limits)) shapes.push_back({x, y, z});
    }
  }
  return shapes;
}

}  // namespace

WorkGroupLimits LimitsOf(const OpenClFacts& facts, int64_t kernel_limit) {
  const int64_t items =
      kernel_limit > 0 ? std::min(kernel_limit, facts.max_work_group_size) : int64_t{1};
  return {items, facts.max_work_item_sizes};
}

bool Fits(const WorkShape& lws, const WorkGroupLimits& limits) {
  auto left = static_cast<size_t>(std::max<int64_t>(limits.items, 1));
  for (size_t axis = 0; axis < 3; ++axis) {
    const size_t most = limits.items_per_axis[axis];
    if (lws[axis] == 0 || lws[axis] > std::min(left, most)) return false;
    left /= lws[axis];
  }
  return true;
}

WorkShape UnitLws(const WorkShape& gws, int compute_units, const WorkGroupLimits& limits) {
  constexpr size_t kGroupsOfUnit = 4, kLeast = 32, kMost = 256;
  if (IsEmpty(gws)) return {1, 1, 1};
  // Of each axis no more than changes the result.
  size_t of_unit = kGroupsOfUnit * kMost;
  const size_t units = std::max(compute_units, 1);
  size_t items = 1;
  for (const size_t extent : gws) items *= std::min(extent, of_unit * units);
  of_unit = items / (kGroupsOfUnit * units);
  const auto target = static_cast<int64_t>(std::clamp(std::bit_floor(of_unit), kLeast, kMost));
  if (gws[1] > 1) return RowLws({gws[0], gws[1], 1}, target, limits);
  const int64_t most = std::min({target, limits.items, limits.items_per_axis[0]});
  return {RowAxis(gws[0], std::max<int64_t>(most, 1)), 1, 1};
}

WorkShape RowLws(const WorkShape& gws, int64_t target, const WorkGroupLimits& limits) {
  WorkShape lws{1, 1, 1};
  if (IsEmpty(gws)) return lws;
  int64_t left = std::clamp<int64_t>(target, 1, std::max<int64_t>(limits.items, 1));
  for (size_t axis = 0; axis < 3; ++axis) {
    int64_t most = std::min(left, limits.items_per_axis[axis]);
    if (axis == 0) most = std::min(most, kRowItemsOfAxis0);
    lws[axis] = RowAxis(gws[axis], std::max<int64_t>(most, 1));
    left /= static_cast<int64_t>(lws[axis]);
  }
  return lws;
}

WorkShape CacheLws(const WorkShape& gws, int64_t limit, int64_t cache_bytes) {
  if (limit <= 0 || IsEmpty(gws)) return {1, 1, 1};
  const size_t most = limit;
  const size_t base = std::max<int64_t>(cache_bytes / kBytesPerCachedItem, 1);
  const size_t y = std::min(gws[1], most);
  const size_t z = std::min(std::min(gws[2], base), most / y);
  const size_t x = std::max<size_t>(std::min(base, most / (y * z)), 1);
  return {x, y, z};
}

std::vector<WorkShape> RowCandidates3d(const WorkShape& gws, int64_t limit) {
  const WorkGroupLimits limits{limit, {limit, limit, limit}};
  const size_t x = gws[0], z = gws[2];
  return Combine({{{x, x / 4, x / 8, 4, 1}, {gws[1]}, {z, z / 8, z / 4, 8, 4, 1}}}, limits);
}

std::vector<WorkShape> FullCandidates2d(int64_t limit) {
  const size_t most = std::max<int64_t>(limit, 1);
  std::vector<WorkShape> shapes;
  for (size_t y = 2; y <= 256; y *= 2)
    if (most / y > 0) shapes.push_back({most / y, y, 1});
  shapes.push_back({most, 1, 1});
  shapes.push_back({1, most, 1});
  return shapes;
}

std::vector<WorkShape> MnnCandidates(MnnKernel kernel, const WorkShape& gws,
                                     const WorkGroupLimits& limits) {
  const auto axis = [&](size_t extent) {
    return PowersOfTwoWhile([&](size_t power) {
      return kernel == MnnKernel::kDepthwise ? power <= extent : power <= 2 * extent || power <= 4;
    });
  };
  return Combine({{axis(gws[0]), axis(gws[1]), {1}}}, limits);
}

WorkShape MnnLws(const WorkShape& gws, int compute_units, const WorkGroupLimits& limits) {
  WorkShape lws{1, 1, 1};
  if (IsEmpty(gws)) return lws;
  const size_t cores = 2 * std::max(compute_units, 1);
  int64_t left = std::max<int64_t>(limits.items, 1);
  for (size_t axis = 0; axis < 3; ++axis) {
    size_t size = std::max<size_t>(gws[axis] / cores, 1);
    while (gws[axis] % size != 0) --size;
    const int64_t most = std::max<int64_t>(std::min(left, limits.items_per_axis[axis]), 1);
    lws[axis] = std::min(size, static_cast<size_t>(most));
    left /= static_cast<int64_t>(lws[axis]);
  }
  return lws;
}

std::vector<WorkShape> ArmCandidates(ArmGrid grid, const WorkGroupLimits& limits) {
  constexpr std::array<size_t, 3> kMost{64, 32, 32};
  if (grid == ArmGrid::kRapid) return Combine({{{1, 2, 8}, {1, 2}, {1, 2}}}, limits);
  std::array<std::vector<size_t>, 3> axes;
  for (size_t i = 0; i < 3; ++i)
    axes[i] = PowersOfTwoWhile([&](size_t power) { return power <= kMost[i]; });
  return Combine(axes, limits);
}

}  // namespace fettle
