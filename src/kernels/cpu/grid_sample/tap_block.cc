#include "kernels/cpu/grid_sample/tap_block.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/grid_sample/tap_block.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

using Padding = ops::GridSampleAttributes::Padding;
using Doubles = hn::ScalableTag<double>;
using DoubleVec = hn::Vec<Doubles>;

/// The taps of one axis, by tap and point; pixels are multiplied by the axis' stride.
struct AxisTapBlock {
  alignas(64) int32_t pixel[kMostAxisTaps][kMostBlockPoints];
  alignas(64) float weight[kMostAxisTaps][kMostBlockPoints];
};

/// One axis of a map, as its vectors want it.
struct AxisEnds {
  double last;       // the last pixel
  double low, high;  // where positions are mirrored

  AxisEnds(const SampleMap& map, int64_t extent)
      : last(static_cast<double>(extent - 1)),
        low(map.how.align_corners ? 0 : -0.5),
        high(map.how.align_corners ? last : last + 0.5) {}

  /// Whether `x` lies on the image: false for NaN.
  auto Inside(DoubleVec x) const {
    const Doubles d;
    return hn::And(hn::Ge(x, hn::Zero(d)), hn::Le(x, hn::Set(d, last)));
  }
  DoubleVec Clamp(DoubleVec x) const {
    const Doubles d;
    x = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
    return hn::IfThenElse(hn::Gt(x, hn::Set(d, last)), hn::Set(d, last), x);
  }
  /// What lies outside, mirrored at the ends until it lies inside; NaN stays.
  DoubleVec Mirror(DoubleVec x) const {
    const Doubles d;
    if (!(high > low)) return hn::IfThenElse(hn::Eq(x, x), hn::Set(d, low), x);
    const DoubleVec range = hn::Set(d, high - low), twice = hn::Add(range, range);
    DoubleVec behind = hn::Abs(hn::Sub(x, hn::Set(d, low)));
    behind = hn::Sub(behind, hn::Mul(twice, hn::Floor(hn::Div(behind, twice))));
    behind = hn::IfThenElse(hn::Gt(behind, range), hn::Sub(twice, behind), behind);
    return hn::IfThenElse(Inside(x), x, Clamp(hn::Add(hn::Set(d, low), behind)));
  }
};

/// Weights of four pixels around a point, `ratio` behind the second: cubic with a = -0.75.
HWY_INLINE void CubicTaps(DoubleVec ratio, DoubleVec (&weight)[kMostAxisTaps]) {
  const Doubles d;
  constexpr double a = -0.75;
  const auto outer = [d](DoubleVec r) HWY_ATTR {
    DoubleVec w = hn::MulAdd(hn::Set(d, a), r, hn::Set(d, -5 * a));
    w = hn::MulAdd(w, r, hn::Set(d, 8 * a));
    return hn::MulAdd(w, r, hn::Set(d, -4 * a));
  };
  const auto inner = [d](DoubleVec r) HWY_ATTR {
    const DoubleVec w = hn::MulAdd(hn::Set(d, a + 2), r, hn::Set(d, -(a + 3)));
    return hn::MulAdd(hn::Mul(w, r), r, hn::Set(d, 1.0));
  };
  const DoubleVec one = hn::Set(d, 1.0), rest = hn::Sub(one, ratio);
  weight[0] = outer(hn::Add(ratio, one));
  weight[1] = inner(ratio);
  weight[2] = inner(rest);
  weight[3] = outer(hn::Add(rest, one));
}

/// Taps of a vector of points at positions `x`, stored from `p` on.
HWY_INLINE void FindVector(const SampleMap& map, const AxisEnds& ends, int64_t stride, DoubleVec x,
                           int64_t p, AxisTapBlock& taps) {
  const Doubles d;
  const hn::Rebind<float, Doubles> df;
  const hn::Rebind<int32_t, Doubles> di;
  const ops::ResizeMode mode = map.how.mode;
  const Padding padding = map.how.padding;
  // Padding moves linear points themselves, so that weights follow the mirrored direction.
  if (mode == ops::ResizeMode::kLinear && padding != Padding::kZeros)
    x = ends.Clamp(padding == Padding::kReflection ? ends.Mirror(x) : x);
  const DoubleVec base = mode == ops::ResizeMode::kNearest ? hn::Round(x) : hn::Floor(x);
  const DoubleVec ratio = hn::Sub(x, base);
  DoubleVec weight[kMostAxisTaps] = {hn::Set(d, 1.0), ratio, ratio, ratio};
  if (mode == ops::ResizeMode::kLinear) weight[0] = hn::Sub(hn::Set(d, 1.0), ratio);
  if (mode == ops::ResizeMode::kCubic) CubicTaps(ratio, weight);
  const int count = map.taps_of_axis(), before = mode == ops::ResizeMode::kCubic ? 1 : 0;
  for (int t = 0; t < count; ++t) {
    DoubleVec at = hn::Add(base, hn::Set(d, static_cast<double>(t - before)));
    if (padding == Padding::kReflection) at = ends.Mirror(at);
    if (padding != Padding::kZeros) at = ends.Clamp(at);
    const auto inside = ends.Inside(at);
    const auto pixel = hn::DemoteTo(di, hn::IfThenElseZero(inside, at));
    hn::Store(hn::Mul(pixel, hn::Set(di, static_cast<int32_t>(stride))), di, taps.pixel[t] + p);
    hn::Store(hn::DemoteTo(df, hn::IfThenElseZero(inside, weight[t])), df, taps.weight[t] + p);
  }
}

/// Positions of `count` coordinates, `step` apart. Mirrors too far for their distance to be counted
/// in periods are brought near.
void FindPositions(const SampleMap& map, const SampleMap::Axis& axis, const float* grid,
                   int64_t step, int64_t count, double* at) {
  for (int64_t p = 0; p < count; ++p)
    at[p] = static_cast<double>(grid[p * step]) * axis.scale + axis.shift;
  if (map.how.padding != Padding::kReflection) return;
  const AxisEnds ends(map, axis.extent);
  constexpr double kFar = 1 << 30;
  for (int64_t p = 0; p < count; ++p) {
    if (!(std::abs(at[p]) < kFar) && ends.high > ends.low)
      at[p] = std::fmod(at[p], 2 * (ends.high - ends.low));
  }
}

/// Tap t of all axes together: pixels add up, weights multiply.
HWY_INLINE void Combine(const SampleMap& map, const AxisTapBlock* taps, int t, int64_t count,
                        TapBlock& block) {
  const int64_t points = BlockPoints(map.taps());
  int32_t* pixel = block.pixel + t * points;
  float* weight = block.weight + t * points;
  std::fill(pixel + count, pixel + points, 0);
  std::fill(weight + count, weight + points, 0.0f);
  for (int i = map.axes - 1, rest = t; i >= 0; --i, rest /= map.taps_of_axis()) {
    const int32_t* more = taps[i].pixel[rest % map.taps_of_axis()];
    const float* times = taps[i].weight[rest % map.taps_of_axis()];
    if (i == map.axes - 1) {
      std::copy_n(more, count, pixel);
      std::copy_n(times, count, weight);
      continue;
    }
    for (int64_t p = 0; p < count; ++p) {
      pixel[p] += more[p];
      weight[p] *= times[p];
    }
  }
}

void FindBlockTapsOnTarget(const SampleMap& map, const float* grid, int64_t count,
                           TapBlock& block) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Doubles()));
  AxisTapBlock taps[kMostSampledAxes];
  int64_t stride = 1;
  for (int i = map.axes - 1; i >= 0; stride *= map.axis[i--].extent) {
    alignas(64) double at[kMostBlockPoints] = {};
    FindPositions(map, map.axis[i], grid + map.axes - 1 - i, map.axes, count, at);
    const AxisEnds ends(map, map.axis[i].extent);
    for (int64_t p = 0; p < count; p += lanes)
      FindVector(map, ends, stride, hn::Load(Doubles(), at + p), p, taps[i]);
  }
  for (int t = 0; t < map.taps(); ++t) Combine(map, taps, t, count, block);
}

/// One element a pixel: a vector of points at a time.
void SamplePlanes(const TapBlock& block, int taps, int64_t count, const float* plane, float* y) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t points = BlockPoints(taps);
  for (int64_t p = 0; p < count; p += lanes) {
    auto sum = hn::Zero(d);
    for (int t = 0; t < taps; ++t) {
      const auto weight = hn::Load(d, block.weight + t * points + p);
      const auto x = hn::GatherIndex(d, plane, hn::Load(di, block.pixel + t * points + p));
      sum = hn::MulAdd(hn::IfThenElseZero(hn::Ne(weight, hn::Zero(d)), x), weight, sum);
    }
    if (p + lanes <= count) {
      hn::StoreU(sum, d, y + p);
    } else {
      StoreSomeFloats(d, sum, y + p, count - p);
    }
  }
}

/// y[i] = the sum of `taps` pixels.
void SumPixels(const float* const* pixel, const float* weight, int taps, int64_t inner, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < inner; i += lanes) {
    auto sum = hn::Zero(d);
    for (int t = 0; t < taps; ++t) {
      const auto x = i + lanes <= inner ? hn::LoadU(d, pixel[t] + i)
                                        : LoadSomeFloats(d, pixel[t] + i, inner - i);
      sum = hn::MulAdd(x, hn::Set(d, weight[t]), sum);
    }
    if (i + lanes <= inner) {
      hn::StoreU(sum, d, y + i);
    } else {
      StoreSomeFloats(d, sum, y + i, inner - i);
    }
  }
}

/// The sum of point p's four pixels, in no branch that depends on where it lies.
HWY_INLINE void SumFourPixels(const TapBlock& block, int64_t p, const float* image, int64_t inner,
                              float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kPoints = kMostBlockPoints;
  const float* weight = block.weight + p;
  const int32_t* pixel = block.pixel + p;
  const auto w0 = hn::Set(d, weight[0]), w1 = hn::Set(d, weight[kPoints]),
             w2 = hn::Set(d, weight[2 * kPoints]), w3 = hn::Set(d, weight[3 * kPoints]);
  const auto zero = hn::Zero(d);
  const auto m0 = hn::Ne(w0, zero), m1 = hn::Ne(w1, zero), m2 = hn::Ne(w2, zero),
             m3 = hn::Ne(w3, zero);
  const float *p0 = image + pixel[0] * inner, *p1 = image + pixel[kPoints] * inner,
              *p2 = image + pixel[2 * kPoints] * inner, *p3 = image + pixel[3 * kPoints] * inner;
  int64_t i = 0;
  for (; i + lanes <= inner; i += lanes) {
    auto sum = hn::Mul(w0, hn::IfThenElseZero(m0, hn::LoadU(d, p0 + i)));
    sum = hn::MulAdd(w1, hn::IfThenElseZero(m1, hn::LoadU(d, p1 + i)), sum);
    sum = hn::MulAdd(w2, hn::IfThenElseZero(m2, hn::LoadU(d, p2 + i)), sum);
    hn::StoreU(hn::MulAdd(w3, hn::IfThenElseZero(m3, hn::LoadU(d, p3 + i)), sum), d, y + i);
  }
  if (i == inner) return;
  const int64_t some = inner - i;
  auto sum = hn::Mul(w0, hn::IfThenElseZero(m0, LoadSomeFloats(d, p0 + i, some)));
  sum = hn::MulAdd(w1, hn::IfThenElseZero(m1, LoadSomeFloats(d, p1 + i, some)), sum);
  sum = hn::MulAdd(w2, hn::IfThenElseZero(m2, LoadSomeFloats(d, p2 + i, some)), sum);
  sum = hn::MulAdd(w3, hn::IfThenElseZero(m3, LoadSomeFloats(d, p3 + i, some)), sum);
  StoreSomeFloats(d, sum, y + i, some);
}

void SampleBlockOnTarget(const TapBlock& block, int taps, int64_t count, const float* image,
                         int64_t inner, float* y) {
  if (inner == 1) return SamplePlanes(block, taps, count, image, y);
  if (taps == 4) {
    for (int64_t p = 0; p < count; ++p) SumFourPixels(block, p, image, inner, y + p * inner);
    return;
  }
  const int64_t points = BlockPoints(taps);
  for (int64_t p = 0; p < count; ++p) {
    const float* pixel[kMostTaps];
    float weight[kMostTaps];
    int read = 0;
    for (int t = 0; t < taps; ++t) {
      weight[read] = block.weight[t * points + p];
      pixel[read] = image + block.pixel[t * points + p] * inner;
      read += weight[read] != 0 ? 1 : 0;
    }
    SumPixels(pixel, weight, read, inner, y + p * inner);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(FindBlockTapsOnTarget);
HWY_EXPORT(SampleBlockOnTarget);

void FindBlockTaps(const SampleMap& map, const float* grid, int64_t count, TapBlock& block) {
  HWY_DYNAMIC_DISPATCH(FindBlockTapsOnTarget)(map, grid, count, block);
}

void SampleBlock(const TapBlock& block, int taps, int64_t count, const float* image, int64_t inner,
                 float* y) {
  HWY_DYNAMIC_DISPATCH(SampleBlockOnTarget)(block, taps, count, image, inner, y);
}

}  // namespace fettle::kernels
#endif
