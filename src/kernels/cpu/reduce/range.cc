#include "kernels/cpu/reduce/range.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/range.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);

/// What keeps four vectors apart: each waits for its last one.
struct LowsAndHighs {
  V low[4], high[4];

  /// Written out: g++ for ARM compiles an implicit one without the instruction set of its vectors.
  HWY_INLINE LowsAndHighs() {}
  HWY_INLINE void Add(int i, V x) {
#if !HWY_ARCH_X86
    x = hn::IfThenElseZero(hn::Eq(x, x), x);
#endif
    // On x86 the second operand stays where the first is NaN.
    low[i] = hn::Min(x, low[i]);
    high[i] = hn::Max(x, high[i]);
  }
};

std::pair<float, float> Range(const float* x, int64_t n) {
  const D d;
  LowsAndHighs all;
  for (int i = 0; i < 4; ++i) all.low[i] = all.high[i] = hn::Zero(d);
  int64_t k = 0;
  for (; k + 4 * kLanes <= n; k += 4 * kLanes) {
    for (int i = 0; i < 4; ++i) all.Add(i, hn::LoadU(d, x + k + i * kLanes));
  }
  for (; k + kLanes <= n; k += kLanes) all.Add(0, hn::LoadU(d, x + k));
  for (int i = 1; i < 4; ++i) {
    all.low[0] = hn::Min(all.low[0], all.low[i]);
    all.high[0] = hn::Max(all.high[0], all.high[i]);
  }
  float low = hn::GetLane(hn::MinOfLanes(d, all.low[0]));
  float high = hn::GetLane(hn::MaxOfLanes(d, all.high[0]));
  for (; k < n; ++k) {
    low = x[k] < low ? x[k] : low;
    high = x[k] > high ? x[k] : high;
  }
  return {low, high};
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(Range);

std::pair<float, float> RangeOfNumbers(const float* x, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(Range)(x, n);
}

}  // namespace fettle::kernels
#endif
