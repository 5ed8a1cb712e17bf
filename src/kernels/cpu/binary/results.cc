#include "kernels/cpu/binary/results.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary/results.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Plain loops of eight, which compilers turn into the target's vectors.
template <bool is_plain>
HWY_INLINE void SumPixel(const BitSums& sums, const FloatPanel& panel, int64_t p, float* results) {
  const int32_t *differ = sums.OfPixel(p), *outside = sums.Outside(p);
  const double pairs = sums.pairs[p], x_ones = sums.x_ones[p];
  for (int o = 0; o < kBitOutputs; ++o) {
    double sum = panel.differ[o] * (differ[o] - outside[o]);
    sum += panel.pairs[o] * pairs;
    if constexpr (!is_plain) {
      const int32_t w_ones = sums.w_ones[o] - outside[o];
      sum += panel.x_ones[o] * x_ones + panel.w_ones[o] * w_ones;
    }
    results[o] = static_cast<float>(sum + panel.bias[o]);
  }
}

/// The same where the results are integers, scaled. Of kOnes, taps outside take themselves back.
template <FloatForm form>
HWY_INLINE void ScalePixel(const BitSums& sums, const FloatPanel& panel, int64_t p,
                           float* results) {
  const hn::CappedTag<int32_t, kBitOutputs> d;
  const hn::RebindToFloat<decltype(d)> df;
  const int32_t *differ = sums.OfPixel(p), *outside = sums.Outside(p);
  const auto pairs = hn::Set(d, sums.pairs[p]);
  for (int o = 0; o < kBitOutputs; o += static_cast<int>(hn::Lanes(d))) {
    auto counted = hn::LoadU(d, differ + o), sum = counted;
    if constexpr (form == FloatForm::kOnes) {
      sum = hn::Sub(hn::LoadU(d, sums.w_ones + o), counted);
    } else {
      counted = hn::Sub(counted, hn::LoadU(d, outside + o));
      sum = hn::Sub(pairs, hn::Add(counted, counted));
    }
    hn::StoreU(hn::Mul(hn::ConvertTo(df, sum), hn::LoadU(df, panel.scale + o)), df, results + o);
  }
}

template <FloatForm form>
HWY_INLINE void StoreTile(const BitSums& sums, const FloatPanel& panel, float* y, int64_t stride,
                          int64_t columns) {
  float results[kBitOutputs];
  for (int64_t p = 0; p < sums.pixels; ++p, y += stride) {
    if constexpr (form == FloatForm::kScaled || form == FloatForm::kOnes) {
      ScalePixel<form>(sums, panel, p, columns == kBitOutputs ? y : results);
      if (columns == kBitOutputs) continue;
    } else {
      SumPixel<form == FloatForm::kPlain>(sums, panel, p, results);
    }
    if (columns == kBitOutputs) {
      std::memcpy(y, results, sizeof results);
    } else {
      for (int64_t o = 0; o < columns; ++o) y[o] = results[o];
    }
  }
}

void StoreFloatsOnTarget(const BitSums& sums, const FloatPanel& panel, FloatForm form, float* y,
                         int64_t stride, int64_t columns) {
  switch (form) {
    case FloatForm::kAny: return StoreTile<FloatForm::kAny>(sums, panel, y, stride, columns);
    case FloatForm::kPlain: return StoreTile<FloatForm::kPlain>(sums, panel, y, stride, columns);
    case FloatForm::kScaled: return StoreTile<FloatForm::kScaled>(sums, panel, y, stride, columns);
    case FloatForm::kOnes: return StoreTile<FloatForm::kOnes>(sums, panel, y, stride, columns);
  }
}

void StoreBitsOnTarget(const BitSums& sums, const LimitPanel& panel, const LimitFactors& factors,
                       uint8_t* y, int64_t stride) {
  const hn::CappedTag<int32_t, kBitOutputs> d;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  for (int64_t p = 0; p < sums.pixels; ++p, y += stride) {
    const int32_t *differ = sums.OfPixel(p), *outside = sums.Outside(p);
    const auto same = hn::Set(d, factors.x_ones * sums.x_ones[p] + factors.pairs * sums.pairs[p]);
    uint32_t bits = 0;
    for (int o = 0; o < kBitOutputs; o += lanes) {
      const auto taken = hn::LoadU(d, outside + o);
      const auto counted = hn::Sub(hn::LoadU(d, differ + o), taken);
      auto sum = hn::Add(same, hn::Mul(counted, hn::Set(d, factors.differ)));
      if (factors.w_ones != 0) {
        sum = hn::Add(sum, hn::Sub(hn::LoadU(d, sums.w_ones + o), taken));
      }
      if (factors.shift != 0) sum = hn::ShiftRight<1>(sum);
      const auto beyond = hn::Or(hn::Lt(sum, hn::LoadU(d, panel.low + o)),
                                 hn::Gt(sum, hn::LoadU(d, panel.high + o)));
      uint8_t stored[8] = {};
      hn::StoreMaskBits(d, hn::Not(beyond), stored);
      bits |= (stored[0] & ((1U << lanes) - 1)) << o;
    }
    *y = static_cast<uint8_t>(bits);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(StoreFloatsOnTarget);
HWY_EXPORT(StoreBitsOnTarget);

void StoreFloats(const BitSums& sums, const FloatPanel& panel, FloatForm form, float* y,
                 int64_t stride, int64_t columns) {
  HWY_DYNAMIC_DISPATCH(StoreFloatsOnTarget)(sums, panel, form, y, stride, columns);
}

void StoreBits(const BitSums& sums, const LimitPanel& panel, const LimitFactors& factors,
               uint8_t* y, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(StoreBitsOnTarget)(sums, panel, factors, y, stride);
}

}  // namespace fettle::kernels
#endif
