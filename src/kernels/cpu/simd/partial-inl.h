// Loads and stores of less than a vector. Included once per SIMD target.
#if defined(FETTLE_KERNELS_CPU_SIMD_PARTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_SIMD_PARTIAL_INL_H_
#undef FETTLE_KERNELS_CPU_SIMD_PARTIAL_INL_H_
#else
#define FETTLE_KERNELS_CPU_SIMD_PARTIAL_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Whether the instruction set masks loads and stores of such lanes.
template <class D>
constexpr bool kMasksLanes = HWY_TARGET == HWY_AVX3 ||
                             (HWY_TARGET == HWY_AVX2 && sizeof(hn::TFromD<D>) >= 4);

/// The first `n` lanes, n below a whole vector, the others zero. Nothing behind them is read:
/// MaskedLoad reads whole vectors where loads have no masks.
template <class D>
HWY_INLINE hn::Vec<D> LoadFirst(D d, int64_t n, const hn::TFromD<D>* p) {
  if constexpr (kMasksLanes<D>) {
    return hn::MaskedLoad(hn::FirstN(d, n), d, p);
  } else {
    constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
    HWY_ALIGN hn::TFromD<D> lanes[kLanes] = {};
    for (int64_t i = 0; i < n && i < kLanes; ++i) lanes[i] = p[i];
    return hn::Load(d, lanes);
  }
}

/// Stores the first `n` lanes, n below a whole vector, and touches nothing behind them.
/// BlendedStore does that only where the instruction set masks stores of such lanes; elsewhere it
/// reads the neighbours and writes them back, while another thread may be computing them.
template <class D, class V>
HWY_INLINE void StoreFirst(D d, V v, int64_t n, hn::TFromD<D>* p) {
  if constexpr (kMasksLanes<D>) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, p);
  } else {
    constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
    HWY_ALIGN hn::TFromD<D> lanes[kLanes];
    hn::Store(v, d, lanes);
    for (int64_t i = 0; i < n && i < kLanes; ++i) p[i] = lanes[i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
