// compiled: by hand
#include "kernels/cpu/conv/deform_taps.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv/deform_taps.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// One axis of a vector of points: the pixel before each, its place behind that, and which of both
/// lie in the image. NaN lies nowhere.
template <class D>
struct DeformAxis {
  using DI = hn::RebindToSigned<D>;
  hn::Vec<DI> first;
  hn::Vec<D> behind;
  hn::Mask<D> inside[2];

  HWY_INLINE DeformAxis(D d, hn::Vec<D> at, int64_t extent) {
    const DI di;
    const auto floor = hn::Floor(at);
    const auto near = hn::And(hn::Ge(floor, hn::Set(d, -1.0f)),
                              hn::Lt(floor, hn::Set(d, static_cast<float>(extent))));
    behind = hn::Sub(at, floor);
    first = hn::ConvertTo(di, hn::IfThenElse(near, floor, hn::Set(d, -2.0f)));
    const auto last = hn::Set(di, static_cast<int32_t>(extent - 1));
    const auto none = hn::Set(di, -1), next = hn::Sub(first, none);
    inside[0] = hn::RebindMask(d, hn::And(hn::Gt(first, none), hn::Not(hn::Gt(first, last))));
    inside[1] = hn::RebindMask(d, hn::And(hn::Gt(next, none), hn::Not(hn::Gt(next, last))));
  }
};

void FindDeformCornersOnTarget(const DeformTap& tap, const DeformBases& bases, int64_t count,
                               DeformCorners& corners) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, 1.0f);
  const auto outside = hn::Set(di, static_cast<int32_t>(tap.height * tap.width));
  for (int64_t p = 0; p < count; p += lanes) {
    const auto load = [&](const float* x) HWY_ATTR {
      return count - p < lanes ? LoadSomeFloats(d, x + p, count - p) : hn::LoadU(d, x + p);
    };
    const auto add = [&](const float* base, float to, const float* x) HWY_ATTR {
      return hn::Add(hn::Add(hn::Load(d, base + p), hn::Set(d, to)), load(x));
    };
    const DeformAxis<decltype(d)> h(d, add(bases.row, tap.down, tap.rows), tap.height);
    const DeformAxis<decltype(d)> w(d, add(bases.column, tap.right, tap.columns), tap.width);
    const auto scale = tap.mask == nullptr ? one : load(tap.mask);
    const auto pixel =
        hn::Add(hn::Mul(h.first, hn::Set(di, static_cast<int32_t>(tap.width))), w.first);
    for (int corner = 0; corner < 4; ++corner) {
      const int down = corner / 2, right = corner % 2;
      const auto inside = hn::And(h.inside[down], w.inside[right]);
      const auto at = hn::Add(pixel, hn::Set(di, down * static_cast<int32_t>(tap.width) + right));
      hn::Store(hn::IfThenElse(hn::RebindMask(di, inside), at, outside), di,
                corners.pixel[corner] + p);
      const auto share = hn::Mul(down == 0 ? hn::Sub(one, h.behind) : h.behind,
                                 right == 0 ? hn::Sub(one, w.behind) : w.behind);
      hn::Store(hn::Mul(hn::IfThenElseZero(inside, share), scale), d, corners.weight[corner] + p);
    }
  }
}

void SampleDeformOnTarget(const DeformCorners& corners, int64_t count, const float* image,
                          int64_t channels, float* y, int64_t stride) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t p = 0; p < count; ++p, y += stride) {
    const auto w0 = hn::Set(d, corners.weight[0][p]), w1 = hn::Set(d, corners.weight[1][p]),
               w2 = hn::Set(d, corners.weight[2][p]), w3 = hn::Set(d, corners.weight[3][p]);
    const float* const p0 = image + corners.pixel[0][p] * channels;
    const float* const p1 = image + corners.pixel[1][p] * channels;
    const float* const p2 = image + corners.pixel[2][p] * channels;
    const float* const p3 = image + corners.pixel[3][p] * channels;
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes) {
      auto sum = hn::Mul(w0, hn::LoadU(d, p0 + c));
      sum = hn::MulAdd(w1, hn::LoadU(d, p1 + c), sum);
      sum = hn::MulAdd(w2, hn::LoadU(d, p2 + c), sum);
      hn::StoreU(hn::MulAdd(w3, hn::LoadU(d, p3 + c), sum), d, y + c);
    }
    if (c == channels) continue;
    const int64_t some = channels - c;
    auto sum = hn::Mul(w0, LoadSomeFloats(d, p0 + c, some));
    sum = hn::MulAdd(w1, LoadSomeFloats(d, p1 + c, some), sum);
    sum = hn::MulAdd(w2, LoadSomeFloats(d, p2 + c, some), sum);
    StoreSomeFloats(d, hn::MulAdd(w3, LoadSomeFloats(d, p3 + c, some), sum), y + c, some);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(FindDeformCornersOnTarget);
HWY_EXPORT(SampleDeformOnTarget);

void FindDeformCorners(const DeformTap& tap, const DeformBases& bases, int64_t count,
                       DeformCorners& corners) {
  HWY_DYNAMIC_DISPATCH(FindDeformCornersOnTarget)(tap, bases, count, corners);
}

void SampleDeform(const DeformCorners& corners, int64_t count, const float* image, int64_t channels,
                  float* y, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(SampleDeformOnTarget)(corners, count, image, channels, y, stride);
}

}  // namespace fettle::kernels
#endif
