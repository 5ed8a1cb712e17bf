// compiled: plain
#include "kernels/cpu/elementwise/cast_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/cast_rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {

using namespace ::fettle::kernels::HWY_NAMESPACE;  // NOLINT: the vector functions of this target

/// y = f(d, x), a vector at a time; nothing behind either row is touched.
template <typename To, typename From, class F>
HWY_INLINE void Map(const F& f, const From* HWY_RESTRICT x, int64_t n, To* HWY_RESTRICT y) {
  const hn::ScalableTag<From> d;
  const hn::Rebind<To, decltype(d)> to;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(d, hn::LoadU(d, x + i)), to, y + i);
  if (i == n) return;
  HWY_ALIGN To rest[hn::MaxLanes(d)];
  hn::Store(f(d, LoadFirst(d, n - i, x + i)), to, rest);
  std::copy_n(rest, n - i, y + i);
}

/// Within the range of 32 bits; NaN is 0.
template <class D, class V>
HWY_INLINE auto ToInt32(D, V x) {
  const hn::Rebind<int32_t, D> di;
  const V number = hn::IfThenElseZero(hn::Eq(x, x), x);
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(int32_t)) {
    return hn::ConvertTo(di, number);
  } else {
    return hn::DemoteTo(di, number);
  }
}

/// A plain loop, of which the compiler makes vectors where there are instructions for them.
template <typename From>
HWY_NOINLINE void CastEachToInt64(const From* HWY_RESTRICT x, int64_t n, int64_t* HWY_RESTRICT y) {
  constexpr From kPast = 0x1p63;
  constexpr From kHigh = sizeof(From) == 4 ? From{0x1.fffffep62} : From(0x1.fffffffffffffp62);
  for (int64_t i = 0; i < n; ++i) {
    const From value = x[i] == x[i] ? x[i] : From{0};
    const From floor = value > -kPast ? value : -kPast;
    const auto cut = static_cast<int64_t>(floor < kHigh ? floor : kHigh);
    y[i] = value >= kPast ? INT64_MAX : cut;
  }
}

/// By way of 32 bits where a whole vector of numbers fits them, and the processor has no other one.
template <typename From>
HWY_INLINE void CastToInt64(const From* HWY_RESTRICT x, int64_t n, int64_t* HWY_RESTRICT y) {
  int64_t i = 0;
  if constexpr (HWY_TARGET == HWY_AVX2) {
    const hn::ScalableTag<int64_t> to;
    const hn::Rebind<From, decltype(to)> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(to));
    for (; i + lanes <= n; i += lanes) {
      const auto v = hn::LoadU(d, x + i);
      if (hn::AllTrue(d, hn::Lt(hn::Abs(v), hn::Set(d, From{0x1p31})))) {
        hn::StoreU(hn::PromoteTo(to, ToInt32(d, v)), to, y + i);
      } else {
        CastEachToInt64(x + i, lanes, y + i);
      }
    }
  }
  CastEachToInt64(x + i, n - i, y + i);
}

/// A number is held in the range of integers.
template <typename From, typename To>
HWY_INLINE void CastNumbers(const From* HWY_RESTRICT x, int64_t n, To* HWY_RESTRICT y) {
  if constexpr (std::is_same_v<To, int32_t>) {
    Map([](auto d, auto v) HWY_ATTR { return ToInt32(d, v); }, x, n, y);
  } else if constexpr (sizeof(To) == 1) {
    Map([](auto d, auto v)
            HWY_ATTR { return hn::DemoteTo(hn::Rebind<To, decltype(d)>(), ToInt32(d, v)); },
        x, n, y);
  } else {
    CastToInt64(x, n, y);
  }
}

template <typename From>
HWY_INLINE void CastFloats(DType to, const std::byte* in, int64_t n, std::byte* out) {
  const From* HWY_RESTRICT x = reinterpret_cast<const From*>(in);
  switch (to) {
    case DType::kI8: return CastNumbers(x, n, reinterpret_cast<int8_t*>(out));
    case DType::kU8: return CastNumbers(x, n, reinterpret_cast<uint8_t*>(out));
    case DType::kI32: return CastNumbers(x, n, reinterpret_cast<int32_t*>(out));
    case DType::kI64: return CastNumbers(x, n, reinterpret_cast<int64_t*>(out));
    default: {
      bool* HWY_RESTRICT y = reinterpret_cast<bool*>(out);
      for (int64_t i = 0; i < n; ++i) y[i] = x[i] != 0;
    }
  }
}

template <typename To>
HWY_INLINE void Flags(const uint8_t* HWY_RESTRICT x, int64_t n, To* HWY_RESTRICT y) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i] != 0);
}

void CastBoolsOnTarget(DType to, const std::byte* in, int64_t n, std::byte* out) {
  const auto* x = reinterpret_cast<const uint8_t*>(in);
  switch (to) {
    case DType::kI8: return Flags(x, n, reinterpret_cast<int8_t*>(out));
    case DType::kI32: return Flags(x, n, reinterpret_cast<int32_t*>(out));
    case DType::kI64: return Flags(x, n, reinterpret_cast<int64_t*>(out));
    case DType::kF64: return Flags(x, n, reinterpret_cast<double*>(out));
    default: return Flags(x, n, reinterpret_cast<float*>(out));
  }
}

void CastFloatsOnTarget(DType from, DType to, const std::byte* in, int64_t n, std::byte* out) {
  if (from == DType::kF32) return CastFloats<float>(to, in, n, out);
  CastFloats<double>(to, in, n, out);
}

void WidenIntegersOnTarget(DType to, const std::byte* in, int64_t n, std::byte* out) {
  const auto* HWY_RESTRICT x = reinterpret_cast<const int64_t*>(in);
  if (to == DType::kF64)
    return Map(
        [](auto, auto v)
            HWY_ATTR { return hn::ConvertTo(hn::RebindToFloat<hn::DFromV<decltype(v)>>(), v); },
        x, n, reinterpret_cast<double*>(out));
  // By way of double some would be rounded twice.
  float* HWY_RESTRICT y = reinterpret_cast<float*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels::elementwise {

HWY_EXPORT(CastBoolsOnTarget);
HWY_EXPORT(CastFloatsOnTarget);
HWY_EXPORT(WidenIntegersOnTarget);

namespace {

template <size_t kPair>
void Row(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n, unsigned) {
  constexpr CastPair kCast = kVectorCasts[kPair];
  if constexpr (kCast.from == DType::kBool) {
    HWY_DYNAMIC_DISPATCH(CastBoolsOnTarget)(kCast.to, in[0], n, out);
  } else if constexpr (kCast.from == DType::kI64) {
    HWY_DYNAMIC_DISPATCH(WidenIntegersOnTarget)(kCast.to, in[0], n, out);
  } else if constexpr (kCast.from == DType::kF32 || kCast.from == DType::kF64) {
    HWY_DYNAMIC_DISPATCH(CastFloatsOnTarget)(kCast.from, kCast.to, in[0], n, out);
  } else {  // bytes of either sign: the same bits
    std::memcpy(out, in[0], n);
  }
}

constexpr auto kRows = []<size_t... kPair>(std::index_sequence<kPair...>) {
  return std::array<TypedRow, sizeof...(kPair)>{Row<kPair>...};
}
(std::make_index_sequence<std::size(kVectorCasts)>());

}  // namespace

TypedRow FindVectorCastRow(DType from, DType to) {
  const auto* const at = std::ranges::find(kVectorCasts, CastPair{from, to});
  return at == std::end(kVectorCasts) ? nullptr : kRows[at - std::begin(kVectorCasts)];
}

}  // namespace fettle::kernels::elementwise
#endif
