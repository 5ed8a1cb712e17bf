// Blocks of eight u16, transposed. Included once per SIMD target.
#if defined(FETTLE_KERNELS_CPU_BINARY_TRANSPOSE8_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_BINARY_TRANSPOSE8_INL_H_
#undef FETTLE_KERNELS_CPU_BINARY_TRANSPOSE8_INL_H_
#else
#define FETTLE_KERNELS_CPU_BINARY_TRANSPOSE8_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

/// As many blocks as sums of u32 fit a vector.
using SumD = hn::CappedTag<uint16_t, 16>;

/// Within blocks of eight u16: v[k] = element k of each v.
template <class D, class V = hn::Vec<D> >
HWY_INLINE void Transpose8(D d, V (&v)[8]) {
  V other[8];
  const auto zip = [&](const V(&from)[8], V(&to)[8]) HWY_ATTR {
    for (int i = 0; i < 4; ++i) {
      to[2 * i] = hn::InterleaveLower(d, from[i], from[i + 4]);
      to[2 * i + 1] = hn::InterleaveUpper(d, from[i], from[i + 4]);
    }
  };
  zip(v, other);
  zip(other, v);
  zip(v, other);
  for (int i = 0; i < 8; ++i) v[i] = other[i];
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // FETTLE_KERNELS_CPU_BINARY_TRANSPOSE8_INL_H_
