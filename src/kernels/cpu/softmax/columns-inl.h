// Softmax of columns that lie side by side. Included once per SIMD target.
#if defined(FETTLE_KERNELS_CPU_SOFTMAX_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_SOFTMAX_COLUMNS_INL_H_
#undef FETTLE_KERNELS_CPU_SOFTMAX_COLUMNS_INL_H_
#else
#define FETTLE_KERNELS_CPU_SOFTMAX_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// kVectors vectors of columns, whose elements lie `stride` apart: each row is read where its lines
/// lie side by side, where a single vector would ask for a line, and a page, for each step.
template <bool log, int kVectors>
void WideColumns(const float* x, float* y, int64_t n, int64_t stride, bool nan_to_zero) {
  const hn::ScalableTag<float> d;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  using V = hn::Vec<decltype(d)>;
  V most[kVectors], sum[kVectors], e[kVectors];
  for (int k = 0; k < kVectors; ++k) {
    most[k] = hn::LoadU(d, x + k * kLanes);
    sum[k] = hn::Zero(d);
  }
  for (int64_t r = 1; r < n; ++r) {
    for (int k = 0; k < kVectors; ++k)
      most[k] = hn::Max(most[k], hn::LoadU(d, x + r * stride + k * kLanes));
  }
  for (int64_t r = 0; r < n; ++r) {
    for (int k = 0; k < kVectors; ++k)
      e[k] = hn::Sub(hn::LoadU(d, x + r * stride + k * kLanes), most[k]);
    ExpDown(d, e);
    for (int k = 0; k < kVectors; ++k) {
      sum[k] = hn::Add(sum[k], e[k]);
      if constexpr (!log) hn::StoreU(e[k], d, y + r * stride + k * kLanes);
    }
  }
  V last[kVectors], judged[kVectors];
  for (int k = 0; k < kVectors; ++k) {
    last[k] = log ? Log(d, sum[k]) : hn::Div(hn::Set(d, 1.0f), sum[k]);
    judged[k] = nan_to_zero ? sum[k] : hn::Zero(d);
  }
  for (int64_t r = 0; r < n; ++r) {
    for (int k = 0; k < kVectors; ++k) {
      const int64_t at = r * stride + k * kLanes;
      const V v = log ? hn::Sub(hn::Sub(hn::LoadU(d, x + at), most[k]), last[k])
                      : hn::Mul(hn::LoadU(d, y + at), last[k]);
      hn::StoreU(hn::IfThenElseZero(hn::Eq(judged[k], judged[k]), v), d, y + at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggled per target
