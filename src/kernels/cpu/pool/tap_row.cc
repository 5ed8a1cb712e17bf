#include "kernels/cpu/pool/tap_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool/tap_row.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// Plain loops, of which the compiler makes vectors of this target; kStride 0: any.
template <int64_t kStride>
void Take(const float* HWY_RESTRICT x, int64_t any_stride, int64_t n, int32_t tap, bool first,
          float* HWY_RESTRICT best, int32_t* HWY_RESTRICT taps) {
  const int64_t stride = kStride == 0 ? any_stride : kStride;
  if (first) {
    for (int64_t i = 0; i < n; ++i) {
      best[i] = x[i * stride];
      taps[i] = tap;
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const float value = x[i * stride];
    const bool better = value > best[i];
    best[i] = better ? value : best[i];
    taps[i] = better ? tap : taps[i];
  }
}

void TakeOnTarget(const float* x, int64_t stride, int64_t n, int32_t tap, bool first, float* best,
                  int32_t* taps) {
  if (stride == 1) return Take<1>(x, stride, n, tap, first, best, taps);
  if (stride == 2) return Take<2>(x, stride, n, tap, first, best, taps);
  Take<0>(x, stride, n, tap, first, best, taps);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(TakeOnTarget);

void TakeGreater(const float* x, int64_t stride, int64_t n, int32_t tap, bool first, float* best,
                 int32_t* taps) {
  HWY_DYNAMIC_DISPATCH(TakeOnTarget)(x, stride, n, tap, first, best, taps);
}

}  // namespace fettle::kernels
#endif
