// Scalar oracles of Cast, CastLike and BitCast.
#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include "ops/element_access.h"
#include "ops/elementwise/op.h"
#include "ops/walk.h"
#include "tensor/wide_elements.h"

namespace fettle::ops {
namespace {

/// Truncates towards zero; saturates, since a C++ cast is undefined out of range. NaN gives 0.
template <typename T>
T FloatToInt(double value) {
  if (std::isnan(value)) return 0;
  // Both bounds are exact: -2^n and 2^n.
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double past = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (value <= low) return std::numeric_limits<T>::min();
  if (value >= past) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

/// The 8-bit floats saturate by themselves; without saturation, what rounds past the largest finite
/// value becomes NaN (E4M3FN has no infinity) or infinity.
template <typename T>
T ToFloat8(double value, bool saturate) {
  constexpr bool kHasInfinity = std::same_as<T, F8E5M2>;
  const T result(static_cast<float>(value));
  if (saturate || std::isnan(value)) return result;
  // Half a step above the largest finite value rounds away from it (its significand is odd in
  // E5M2, even in E4M3FN).
  const double magnitude = std::fabs(value);
  const bool past = kHasInfinity ? magnitude >= 61440 : magnitude > 464;
  if (!past) return result;
  T special;
  special.bits =
      static_cast<uint8_t>((std::signbit(value) ? 0x80 : 0) | (kHasInfinity ? 0x7c : 0x7f));
  return special;
}

/// Keeps the low 4 bits of an integer, extended by its sign for kI4.
int64_t ToInt4(int64_t value, DType to) {
  const int64_t low = value & 15;
  return to == DType::kI4 && low > 7 ? low - 16 : low;
}

template <typename To, typename W>
To Convert(W value, const CastRule& rule) {
  if constexpr (std::same_as<To, bool>) {
    return value != 0;
  } else if constexpr (std::same_as<To, F8E4M3FN> || std::same_as<To, F8E5M2>) {
    return ToFloat8<To>(static_cast<double>(value), rule.saturate);
  } else if constexpr (kIsFloating<To>) {
    return Narrow<To>(value);
  } else if (IsSubByte(rule.to)) {
    int64_t integer = 0;
    if constexpr (std::same_as<W, double>) {
      integer = FloatToInt<int64_t>(value);
    } else {
      integer = static_cast<int64_t>(value);
    }
    return static_cast<To>(ToInt4(integer, rule.to));
  } else if constexpr (std::same_as<W, double>) {
    return FloatToInt<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

Status CastReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const CastRule rule, ReadCast(context.node, y.dtype));
  Walker walk(y.shape, {x.strides, y.strides}, region.begin);
  WideElements wide;
  int64_t from[kWideElements], to[kWideElements];
  for (int64_t begin = region.begin; begin < region.end;) {
    size_t count = 0;
    for (; count < kWideElements && begin < region.end; ++count, ++begin, walk.Next())
      from[count] = walk[0], to[count] = walk[1];
    ReadWide(x.dtype, x.as<std::byte>(), from, count, wide);
    WideDispatch(x.dtype, [&]<typename W>() {
      DispatchDType(y.dtype, [&]<typename To>() {
        for (size_t i = 0; i < count; ++i) y.as<To>()[to[i]] = Convert<To>(wide.As<W>(i), rule);
      });
    });
  }
  return OkStatus();
}

/// The bits stay. Those of a 4-bit integer lie in a byte that its sign fills; a bool has no bits
/// but the lowest.
Status BitCastReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  Walker walk(y.shape, {x.strides, y.strides}, region.begin);
  DispatchElementSize(y.dtype, [&]<typename U>() {
    for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
      U bits = x.as<U>()[walk[0]];
      if (y.dtype == DType::kU4) bits &= 15;
      if (y.dtype == DType::kI4) bits = static_cast<U>(ToInt4(bits, DType::kI4));
      if (y.dtype == DType::kBool) bits = bits != 0;
      y.as<U>()[walk[1]] = bits;
    }
  });
  return OkStatus();
}

}  // namespace fettle::ops
