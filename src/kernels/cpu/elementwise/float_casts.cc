#include "kernels/cpu/elementwise/float_casts.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/float_casts.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {

// Plain loops: the compiler makes vectors of this target of them.

/// A float is held in the range of integers; NaN is 0.
template <typename From, typename To>
HWY_INLINE void Cast(const From* HWY_RESTRICT x, int64_t n, To* HWY_RESTRICT y) {
  if constexpr (std::is_same_v<To, bool>) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] != 0;
  } else if constexpr (!std::is_floating_point_v<From>) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i] != 0);
  } else {
    constexpr int kBits = std::numeric_limits<To>::digits;
    constexpr bool kIsExact = kBits < std::numeric_limits<From>::digits;
    using Step = std::conditional_t<(kBits < 32), int32_t, To>;  // narrow integers are cut to
    constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From kPast = static_cast<From>(uint64_t{1} << (kBits - 1)) * 2;
    // The largest number that the integer has.
    constexpr From kHigh =
        kIsExact ? kPast - 1 : kPast * (1 - std::numeric_limits<From>::epsilon() / 2);
    for (int64_t i = 0; i < n; ++i) {
      const From value = x[i] == x[i] ? x[i] : From{0};
      const From floor = value > kLow ? value : kLow;
      const auto cut = static_cast<To>(static_cast<Step>(floor < kHigh ? floor : kHigh));
      if constexpr (kIsExact) {
        y[i] = cut;
      } else {
        y[i] = value >= kPast ? std::numeric_limits<To>::max() : cut;
      }
    }
  }
}

template <typename From>
HWY_INLINE void CastTo(DType to, const std::byte* in, int64_t n, std::byte* out) {
  const From* x = reinterpret_cast<const From*>(in);
  switch (to) {
    case DType::kI8: return Cast(x, n, reinterpret_cast<int8_t*>(out));
    case DType::kU8: return Cast(x, n, reinterpret_cast<uint8_t*>(out));
    case DType::kI32: return Cast(x, n, reinterpret_cast<int32_t*>(out));
    case DType::kI64: return Cast(x, n, reinterpret_cast<int64_t*>(out));
    default: return Cast(x, n, reinterpret_cast<bool*>(out));
  }
}

void CastOnTarget(DType from, DType to, const std::byte* in, int64_t n, std::byte* out) {
  if (from == DType::kF32) return CastTo<float>(to, in, n, out);
  if (from == DType::kF64) return CastTo<double>(to, in, n, out);
  Cast(reinterpret_cast<const uint8_t*>(in), n, reinterpret_cast<float*>(out));
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels::elementwise {

HWY_EXPORT(CastOnTarget);

namespace {

template <DType kFrom, DType kTo>
void Row(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n, unsigned) {
  HWY_DYNAMIC_DISPATCH(CastOnTarget)(kFrom, kTo, in[0], n, out);
}

template <DType kFrom>
TypedRow FindTo(DType to) {
  switch (to) {
    case DType::kI8: return Row<kFrom, DType::kI8>;
    case DType::kU8: return Row<kFrom, DType::kU8>;
    case DType::kI32: return Row<kFrom, DType::kI32>;
    case DType::kI64: return Row<kFrom, DType::kI64>;
    case DType::kBool: return Row<kFrom, DType::kBool>;
    default: return nullptr;
  }
}

}  // namespace

TypedRow FindFloatCastRow(DType from, DType to) {
  if (from == DType::kF32) return FindTo<DType::kF32>(to);
  if (from == DType::kF64) return FindTo<DType::kF64>(to);
  if (from == DType::kBool && to == DType::kF32) return Row<DType::kBool, DType::kF32>;
  return nullptr;
}

}  // namespace fettle::kernels::elementwise
#endif
