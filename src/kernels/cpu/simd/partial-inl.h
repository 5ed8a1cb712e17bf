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

/// The first `n` lanes, and zeros; or all where there are no more than n, without a mask.
template <class D>
HWY_INLINE hn::Vec<D> LoadUpTo(D d, int64_t n, const hn::TFromD<D>* p) {
  if (n >= static_cast<int64_t>(hn::MaxLanes(d))) return hn::LoadU(d, p);
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
}

/// Stores the first `n` lanes, or all where there are no more than n. In more code than the above,
/// without a masked store of AVX2: AMD's processors before Zen 4 take a dozen cycles for one,
/// whatever its mask.
template <class D, class V>
HWY_INLINE void StoreUpTo(D d, V v, int64_t n, hn::TFromD<D>* p) {
  if (n >= static_cast<int64_t>(hn::MaxLanes(d))) return hn::StoreU(v, d, p);
#if HWY_TARGET == HWY_AVX2
  if constexpr (hn::MaxLanes(D()) == 8) {
    const hn::Half<D> four;
    const hn::Half<decltype(four)> two;
    auto x = hn::LowerHalf(four, v);
    if ((n & 4) != 0) {
      hn::StoreU(x, four, p);
      x = hn::UpperHalf(four, v);
      p += 4;
    }
    auto y = hn::LowerHalf(two, x);
    if ((n & 2) != 0) {
      hn::StoreU(y, two, p);
      y = hn::UpperHalf(two, x);
      p += 2;
    }
    if ((n & 1) != 0) *p = hn::GetLane(y);
    return;
  }
#endif
  StoreFirst(d, v, n, p);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
