// Rows of any storage type as float and back, for kernels that compute in fp32. Included once per
// SIMD target. The plain loops vectorise: they are compiled for the target.
#if defined(FETTLE_KERNELS_CPU_SIMD_STORAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_SIMD_STORAGE_INL_H_
#undef FETTLE_KERNELS_CPU_SIMD_STORAGE_INL_H_
#else
#define FETTLE_KERNELS_CPU_SIMD_STORAGE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Bytes of one element, for the types that LoadAsFloat and StoreFromFloat know; 0 for others.
HWY_INLINE int64_t StorageBytes(DType storage) {
  switch (storage) {
    case DType::kF32:
    case DType::kI32:
    case DType::kU32: return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16: return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool: return 1;
    case DType::kI64:
    case DType::kU64:
    case DType::kF64: return 8;
    default: return 0;
  }
}

template <typename T>
HWY_INLINE void LoadNumbers(const std::byte* from, int64_t stride, int64_t n, float* to) {
  const T* p = reinterpret_cast<const T*>(from);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(p[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(p[i * stride]);
  }
}

HWY_INLINE void LoadHalves(const uint16_t* from, int64_t stride, int64_t n, float* to) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const hn::Rebind<uint16_t, decltype(d)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (hn::MaxLanes(d) == 1) {  // Highway's scalar form knows neither infinity nor NaN
    for (int64_t i = 0; i < n; ++i) {
      Half half;
      half.bits = from[i * stride];
      to[i] = static_cast<float>(half);
    }
    return;
  }
  int64_t i = 0;
  for (; stride == 1 && i + lanes <= n; i += lanes)
    hn::StoreU(hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(du, from + i))), d, to + i);
  HWY_ALIGN uint16_t bits[hn::MaxLanes(d)] = {};
  HWY_ALIGN float values[hn::MaxLanes(d)];
  for (; i < n; i += lanes) {
    const int64_t count = n - i < lanes ? n - i : lanes;
    for (int64_t k = 0; k < count; ++k) bits[k] = from[(i + k) * stride];
    hn::Store(hn::PromoteTo(d, hn::BitCast(dh, hn::Load(du, bits))), d, values);
    std::memcpy(to + i, values, static_cast<size_t>(count) * sizeof(float));
  }
}

HWY_INLINE void LoadBFloats(const uint16_t* from, int64_t stride, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = static_cast<uint32_t>(from[i * stride]) << 16;
    std::memcpy(to + i, &bits, sizeof(bits));
  }
}

/// `n` elements of type `storage`, `stride` elements apart, as float.
HWY_NOINLINE inline void LoadAsFloat(DType storage, const std::byte* from, int64_t stride,
                                     int64_t n, float* to) {
  switch (storage) {
    case DType::kF32: return LoadNumbers<float>(from, stride, n, to);
    case DType::kF16: return LoadHalves(reinterpret_cast<const uint16_t*>(from), stride, n, to);
    case DType::kBF16: return LoadBFloats(reinterpret_cast<const uint16_t*>(from), stride, n, to);
    case DType::kF64: return LoadNumbers<double>(from, stride, n, to);
    case DType::kI8: return LoadNumbers<int8_t>(from, stride, n, to);
    case DType::kU8:
    case DType::kBool: return LoadNumbers<uint8_t>(from, stride, n, to);
    case DType::kI16: return LoadNumbers<int16_t>(from, stride, n, to);
    case DType::kU16: return LoadNumbers<uint16_t>(from, stride, n, to);
    case DType::kI32: return LoadNumbers<int32_t>(from, stride, n, to);
    case DType::kU32: return LoadNumbers<uint32_t>(from, stride, n, to);
    case DType::kI64: return LoadNumbers<int64_t>(from, stride, n, to);
    case DType::kU64: return LoadNumbers<uint64_t>(from, stride, n, to);
    default: return;
  }
}

/// What is no number becomes 0: a cast of it to an integer is undefined.
HWY_INLINE float ZeroForNan(float value) { return value == value ? value : 0.0f; }

/// For integral values within the type's range, and NaN.
template <typename T>
HWY_INLINE void StoreSmall(const float* from, int64_t n, std::byte* to) {
  T* p = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) {
    p[i] = static_cast<T>(static_cast<int32_t>(ZeroForNan(from[i])));
  }
}

/// For integral values in [least, `beyond`], and NaN; `beyond`, one past the type's greatest value,
/// becomes that.
template <typename T>
HWY_INLINE void StoreLarge(const float* from, int64_t n, float beyond, T greatest, std::byte* to) {
  T* p = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) {
    p[i] = from[i] >= beyond ? greatest : static_cast<T>(ZeroForNan(from[i]));
  }
}

HWY_INLINE void StoreHalves(const float* from, int64_t n, uint16_t* to) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const hn::Rebind<uint16_t, decltype(d)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if (hn::MaxLanes(d) == 1) {  // Highway's scalar form does not round to nearest
    for (; i < n; ++i) to[i] = Half(from[i]).bits;
    return;
  }
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::BitCast(du, hn::DemoteTo(dh, hn::LoadU(d, from + i))), du, to + i);
  }
  if (i == n) return;
  HWY_ALIGN float values[hn::MaxLanes(d)] = {};
  HWY_ALIGN uint16_t bits[hn::MaxLanes(d)];
  std::memcpy(values, from + i, static_cast<size_t>(n - i) * sizeof(float));
  hn::Store(hn::BitCast(du, hn::DemoteTo(dh, hn::Load(d, values))), du, bits);
  std::memcpy(to + i, bits, static_cast<size_t>(n - i) * sizeof(uint16_t));
}

/// Rounds to nearest, halves to even; NaN stays a (quiet) NaN.
HWY_INLINE void StoreBFloats(const float* from, int64_t n, uint16_t* to) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, from + i, sizeof(bits));
    const uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    to[i] = static_cast<uint16_t>(nan ? (bits >> 16 | 0x40U) : rounded);
  }
}

/// Stores a row. Integer types take integral values that are in range already.
HWY_NOINLINE inline void StoreFromFloat(DType storage, const float* from, int64_t n,
                                        std::byte* to) {
  switch (storage) {
    case DType::kF32: std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float)); return;
    case DType::kF16: return StoreHalves(from, n, reinterpret_cast<uint16_t*>(to));
    case DType::kBF16: return StoreBFloats(from, n, reinterpret_cast<uint16_t*>(to));
    case DType::kF64: {
      auto* p = reinterpret_cast<double*>(to);
      for (int64_t i = 0; i < n; ++i) p[i] = static_cast<double>(from[i]);
      return;
    }
    case DType::kI8: return StoreSmall<int8_t>(from, n, to);
    case DType::kU8:
    case DType::kBool: return StoreSmall<uint8_t>(from, n, to);
    case DType::kI16: return StoreSmall<int16_t>(from, n, to);
    case DType::kU16: return StoreSmall<uint16_t>(from, n, to);
    case DType::kI32: return StoreLarge<int32_t>(from, n, 0x1p31f, INT32_MAX, to);
    case DType::kU32: return StoreLarge<uint32_t>(from, n, 0x1p32f, UINT32_MAX, to);
    case DType::kI64: return StoreLarge<int64_t>(from, n, 0x1p63f, INT64_MAX, to);
    case DType::kU64: return StoreLarge<uint64_t>(from, n, 0x1p64f, UINT64_MAX, to);
    default: return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
