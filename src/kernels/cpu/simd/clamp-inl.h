// Bounds that NaN passes. Included once per SIMD target.
#if defined(FETTLE_KERNELS_CPU_SIMD_CLAMP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_SIMD_CLAMP_INL_H_
#undef FETTLE_KERNELS_CPU_SIMD_CLAMP_INL_H_
#else
#define FETTLE_KERNELS_CPU_SIMD_CLAMP_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Each lane of `x` within [low, high]; NaN stays NaN. Max and Min of x86 give their second operand
/// where one is NaN; those of other targets give the number.
template <class V>
HWY_INLINE V ClampOrNan(V x, V low, V high) {
  const V y = hn::Min(high, hn::Max(low, x));
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return y;
#else
  return hn::IfThenElse(hn::IsNaN(x), x, y);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
