// Vectors of float from and to memory of float, uint8_t or int8_t. Included once per SIMD target.
#if defined(FETTLE_KERNELS_CPU_SIMD_LOAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_SIMD_LOAD_INL_H_
#undef FETTLE_KERNELS_CPU_SIMD_LOAD_INL_H_
#else
#define FETTLE_KERNELS_CPU_SIMD_LOAD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const float* p) {
  return hn::LoadU(d, p);
}
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const T* p) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<T, D> dt;
  return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(dt, p)));
}

/// The first `n` lanes, the others zero; reads nothing behind them.
template <class D>
HWY_INLINE hn::Vec<D> LoadSomeFloats(D d, const float* p, int64_t n) {
  return LoadFirst(d, n, p);
}
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadSomeFloats(D d, const T* p, int64_t n) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  HWY_ALIGN T some[kLanes] = {};
  for (int64_t i = 0; i < n && i < kLanes; ++i) some[i] = p[i];
  return LoadFloats(d, some);
}

/// Integers take whole values within their range.
template <class D, class V>
HWY_INLINE void StoreFloats(D d, V v, float* p) {
  hn::StoreU(v, d, p);
}
template <class D, class V, typename T>
HWY_INLINE void StoreFloats(D, V v, T* p) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<T, D> dt;
  hn::StoreU(hn::DemoteTo(dt, hn::ConvertTo(di, v)), dt, p);
}
template <class D, class V>
HWY_INLINE void StoreSomeFloats(D d, V v, float* p, int64_t n) {
  StoreFirst(d, v, n, p);
}
template <class D, class V, typename T>
HWY_INLINE void StoreSomeFloats(D d, V v, T* p, int64_t n) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  HWY_ALIGN T some[kLanes];
  StoreFloats(d, v, some);
  for (int64_t i = 0; i < n && i < kLanes; ++i) p[i] = some[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
