#include "kernels/cpu/grid_sample/points.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/grid_sample/points.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// Two taps of one axis.
struct AxisTaps {
  int32_t index[2];
  float weight[2];
};

HWY_INLINE int32_t Inside(int32_t i, int32_t extent) {
  return i < 0 ? 0 : (i < extent ? i : extent - 1);
}

HWY_INLINE AxisTaps FindAxis(const PointMap& map, double g, double scale, double shift,
                             int64_t extent) {
  const auto size = static_cast<int32_t>(extent);
  const double last = static_cast<double>(extent - 1);
  double x = g * scale + shift;
  if (map.nearest) x = std::nearbyint(x);
  if (map.border) x = x < 0 ? 0 : (x > last ? last : x);
  // Far outside, and NaN: no tap counts.
  if (!(x >= -2)) x = -2;
  if (x > last + 2) x = last + 2;
  const double floor = std::floor(x);
  const auto ratio = static_cast<float>(x - floor);
  const auto first = static_cast<int32_t>(floor);
  AxisTaps taps;
  taps.index[0] = Inside(first, size);
  taps.index[1] = Inside(first + 1, size);
  taps.weight[0] = first >= 0 && first < size ? 1.0f - ratio : 0.0f;
  taps.weight[1] = first >= -1 && first + 1 < size ? ratio : 0.0f;
  return taps;
}

void FindTapsOnTarget(const PointMap& map, const float* grid, int64_t count, PointTaps& taps) {
  const auto width = static_cast<int32_t>(map.width);
  for (int64_t p = 0; p < count; ++p) {
    const AxisTaps x =
        FindAxis(map, static_cast<double>(grid[2 * p]), map.scale_x, map.shift_x, map.width);
    const AxisTaps y =
        FindAxis(map, static_cast<double>(grid[2 * p + 1]), map.scale_y, map.shift_y, map.height);
    for (int t = 0; t < 4; ++t) {
      taps.index[t][p] = y.index[t / 2] * width + x.index[t % 2];
      taps.weight[t][p] = y.weight[t / 2] * x.weight[t % 2];
    }
  }
}

void SamplePixelsOnTarget(const PointTaps& taps, int64_t count, const float* image,
                          int64_t channels, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t p = 0; p < count; ++p, y += channels) {
    const float* from[4];
    hn::Vec<decltype(d)> w0, w1, w2, w3;
    for (int t = 0; t < 4; ++t) from[t] = image + taps.index[t][p] * channels;
    w0 = hn::Set(d, taps.weight[0][p]);
    w1 = hn::Set(d, taps.weight[1][p]);
    w2 = hn::Set(d, taps.weight[2][p]);
    w3 = hn::Set(d, taps.weight[3][p]);
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes) {
      auto sum = hn::Mul(w0, hn::LoadU(d, from[0] + c));
      sum = hn::MulAdd(w1, hn::LoadU(d, from[1] + c), sum);
      sum = hn::MulAdd(w2, hn::LoadU(d, from[2] + c), sum);
      hn::StoreU(hn::MulAdd(w3, hn::LoadU(d, from[3] + c), sum), d, y + c);
    }
    if (c == channels) continue;
    const int64_t some = channels - c;
    auto sum = hn::Mul(w0, LoadSomeFloats(d, from[0] + c, some));
    sum = hn::MulAdd(w1, LoadSomeFloats(d, from[1] + c, some), sum);
    sum = hn::MulAdd(w2, LoadSomeFloats(d, from[2] + c, some), sum);
    sum = hn::MulAdd(w3, LoadSomeFloats(d, from[3] + c, some), sum);
    StoreSomeFloats(d, sum, y + c, some);
  }
}

void SamplePlaneOnTarget(const PointTaps& taps, int64_t count, const float* plane, float* y) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // Blocks are whole vectors; behind `count` the taps are those of an earlier block, or zeros.
  for (int64_t p = 0; p < count; p += lanes) {
    auto sum = hn::Zero(d);
    for (int t = 0; t < 4; ++t) {
      const auto x = hn::GatherIndex(d, plane, hn::Load(di, taps.index[t] + p));
      sum = hn::MulAdd(x, hn::Load(d, taps.weight[t] + p), sum);
    }
    if (p + lanes <= count) {
      hn::StoreU(sum, d, y + p);
    } else {
      StoreSomeFloats(d, sum, y + p, count - p);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(FindTapsOnTarget);
HWY_EXPORT(SamplePixelsOnTarget);
HWY_EXPORT(SamplePlaneOnTarget);

void FindTaps(const PointMap& map, const float* grid, int64_t count, PointTaps& taps) {
  HWY_DYNAMIC_DISPATCH(FindTapsOnTarget)(map, grid, count, taps);
}

void SamplePixels(const PointTaps& taps, int64_t count, const float* image, int64_t channels,
                  float* y) {
  HWY_DYNAMIC_DISPATCH(SamplePixelsOnTarget)(taps, count, image, channels, y);
}

void SamplePlane(const PointTaps& taps, int64_t count, const float* plane, float* y) {
  HWY_DYNAMIC_DISPATCH(SamplePlaneOnTarget)(taps, count, plane, y);
}

}  // namespace fettle::kernels
#endif
