// compiled: small
#include "kernels/cpu/resize/axis.h"

#include <numeric>

#include "kernels/match/resize_taps.h"

namespace fettle::kernels {

bool PicksElements(const ops::AxisTaps& taps) {
  return taps.taps == 1 &&
         std::all_of(taps.weight.begin(), taps.weight.end(), [](double w) { return w == 1; });
}

bool Doubles(const ResizeAxis& axis) {
  return axis.out == 2 * axis.in && PicksElements(axis.taps) &&
         axis.taps.index == RepeatedTaps(axis.in, 2).index;
}

bool IsAsBefore(const ops::AxisTaps& taps, int64_t i) {
  if (i == 0) return false;
  const auto same = [&](const auto& values) {
    const auto now = values.begin() + i * taps.taps;
    return std::equal(now - taps.taps, now, now);
  };
  return same(taps.index) && same(taps.weight);
}

bool AreSmall(const ResizeAxis& height, const ResizeAxis& width) {
  constexpr int64_t kNarrow = 64, kMostEntries = 16384, kDoubled = 8;
  if (width.in >= kDoubled && Doubles(height) && Doubles(width)) return false;
  const int64_t entries = height.out * height.taps.taps * width.out * width.taps.taps;
  return width.out <= kNarrow && entries <= kMostEntries && height.in * width.in <= kMostEntries;
}

ResizeAxis KeptAxis(int64_t extent) {
  ResizeAxis axis{extent, extent, {}};
  axis.taps.index.resize(extent);
  std::iota(axis.taps.index.begin(), axis.taps.index.end(), 0);
  axis.taps.weight.assign(extent, 1);
  return axis;
}

ops::AxisTaps RepeatedTaps(int64_t extent, int64_t times) {
  ops::AxisTaps taps;
  taps.index.resize(extent * times);
  taps.weight.assign(extent * times, 1);
  taps.outside.assign(extent * times, false);
  for (int64_t i = 0; i < extent; ++i) std::fill_n(taps.index.begin() + i * times, times, i);
  return taps;
}

std::vector<ops::AxisTaps> TapsOfAxes(const Shape& x, const Shape& y,
                                      std::span<const int64_t> repeats,
                                      const ops::ResizeAttributes* resize) {
  if (x.elements() == 0 || y.elements() == 0) return {};
  if (repeats.empty()) {
    if (resize == nullptr) return {};
    Result<ResizeTaps> at = TapsAt(*resize, x, y);
    return at.ok() ? std::move(at->taps) : std::vector<ops::AxisTaps>();
  }
  std::vector<ops::AxisTaps> taps;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (y[axis] != x[axis] * repeats[axis]) return {};
    taps.push_back(RepeatedTaps(x[axis], repeats[axis]));
  }
  return taps;
}

ResizeAxis JoinedAxes(const ResizeAxis& slow, const ResizeAxis& fast) {
  const auto is_one = [](const ResizeAxis& axis) {
    return axis.in == 1 && axis.out == 1 && PicksElements(axis.taps);
  };
  if (is_one(slow)) return fast;
  if (is_one(fast)) return slow;
  ResizeAxis both{
      slow.in * fast.in, slow.out * fast.out, {.taps = slow.taps.taps * fast.taps.taps}};
  for (int64_t i = 0; i < both.out; ++i) {
    const int64_t s = i / fast.out * slow.taps.taps, f = i % fast.out * fast.taps.taps;
    for (int64_t t = 0; t < both.taps.taps; ++t) {
      const int64_t of_slow = s + t / fast.taps.taps, of_fast = f + t % fast.taps.taps;
      both.taps.index.push_back(slow.taps.index[of_slow] * fast.in + fast.taps.index[of_fast]);
      both.taps.weight.push_back(slow.taps.weight[of_slow] * fast.taps.weight[of_fast]);
    }
  }
  return both;
}

}  // namespace fettle::kernels
