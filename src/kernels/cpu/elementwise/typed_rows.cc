// compiled: aligned
#include "kernels/cpu/elementwise/typed_rows.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <type_traits>

#include "kernels/cpu/elementwise/cast_rows.h"
#include "kernels/cpu/elementwise/tile_copy.h"
#include "kernels/cpu/elementwise/wide_rows.h"

namespace fettle::kernels::elementwise {
namespace {

/// The result of an operator as T. Integers wrap: they are computed as unsigned numbers.
template <typename T>
T As(auto value) {
  return static_cast<T>(value);
}

/// The remainder has the sign of the divisor, or of the dividend with fmod; that by 0 is 0.
template <typename T>
T Remainder(T a, T b, bool fmod) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
    const T r = As<T>(a % b);
    return !fmod && r != 0 && (r < 0) != (b < 0) ? As<T>(r + b) : r;
  }
  return As<T>(a % b);
}

/// Truncates; by zero gives 0, and the least value by -1 wraps. Quotients of 32 bits are exact in
/// double, of which there are vectors.
template <typename T>
T Quotient(T a, T b) {
  if constexpr (std::integral<T> && sizeof(T) == 4) {
    const bool turns = std::is_signed_v<T> && b == static_cast<T>(-1);
    const double divisor = b == 0 || turns ? 1 : b;
    const T cut = static_cast<T>(static_cast<double>(a) / divisor);
    const T whole = turns ? As<T>(0 - As<uint32_t>(a)) : cut;
    return b == 0 ? 0 : whole;
  }
  if constexpr (std::integral<T>) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return As<T>(0 - As<uint64_t>(a));
  }
  return As<T>(a / b);
}

// NaN as the first operand wins.
template <typename T>
T Larger(T a, T b) {
  return a != a || a > b ? a : b;
}
template <typename T>
T Smaller(T a, T b) {
  return a != a || a < b ? a : b;
}

/// y = F(x...), element by element; operands of the types T, results of type R.
template <typename F, typename R, typename... T>
void Map(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n, unsigned) {
  // Pointers are values of the loop: stores of bytes might change those in `in`.
  const auto run = [n](R* y, const T*... x) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(F{}(x[i]...));
  };
  [&]<size_t... k>(std::index_sequence<k...>) {
    run(reinterpret_cast<R*>(out), reinterpret_cast<const T*>(in[k])...);
  }
  (std::index_sequence_for<T...>());
}
/// The same of two operands, each of which may be one element.
template <typename F, typename T>
void MapSome(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n,
             unsigned once) {
  const T *a = reinterpret_cast<const T*>(in[0]), *b = reinterpret_cast<const T*>(in[1]);
  T* y = reinterpret_cast<T*>(out);
  const auto run = [n, y](const auto& f) {
    for (int64_t i = 0; i < n; ++i) y[i] = f(i);
  };
  if (once == 0) return run([a, b](int64_t i) { return F{}(a[i], b[i]); });
  if (once == 3) {
    if (n > 0) y[0] = F{}(*a, *b);
    return RepeatTile(out, sizeof(T), n);
  }
  if (once == 1) return run([x = *a, b](int64_t i) { return F{}(x, b[i]); });
  run([a, x = *b](int64_t i) { return F{}(a[i], x); });
}
/// Rare ones, of 16 bits, are shorter instead.
template <typename T, typename F>
constexpr TypedRow OfSome(F) {
  if constexpr (sizeof(T) == 2) return Map<F, T, T, T>;
  return MapSome<F, T>;
}
/// Of short rows where FindWideRow has the long ones.
template <typename T, typename F>
constexpr TypedRow OfProduct(F) {
  if constexpr (std::integral<T> && sizeof(T) >= 2) return Map<F, T, T, T>;
  return MapSome<F, T>;
}
template <typename T, typename F>
constexpr TypedRow Of1(F) {
  return Map<F, T, T>;
}
template <typename T, typename F>
constexpr TypedRow Of2(F) {
  return Map<F, T, T, T>;
}
template <typename T, typename F>
constexpr TypedRow Of3(F) {
  return Map<F, T, T, T, T>;
}
template <typename T, typename F>
constexpr TypedRow Test(F) {
  return Map<F, uint8_t, T, T>;
}

template <const TypedRow& kRow>
void Swapped(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n,
             unsigned once) {
  const std::byte* const swapped[kMaxTypedOperands] = {in[1], in[0]};
  kRow(swapped, out, n, once);
}

struct Row {
  std::string_view op;
  TypedRow function;
};
TypedRow Find(std::span<const Row> rows, std::string_view op) {
  const auto at = std::ranges::find(rows, op, &Row::op);
  return at == rows.end() ? nullptr : at->function;
}

/// What gives the same bits for signed and unsigned integers: T is unsigned, or double.
template <typename T>
TypedRow FindSignless(std::string_view op) {
  static constexpr Row kRows[] = {
      {"Add", OfSome<T>([](T a, T b) { return As<T>(a + b); })},
      // Narrow ones are promoted to signed integers, whose product might not fit.
      {"Mul", OfProduct<T>([](T a, T b) { return As<T>(std::common_type_t<T, unsigned>(a) * b); })},
      {"Sub", OfSome<T>([](T a, T b) { return As<T>(a - b); })},
      {"Neg", Of1<T>([](T a) { return std::integral<T> ? As<T>(T{0} - a) : As<T>(-a); })},
  };
  return Find(kRows, op);
}

/// Shifts by the width or more give 0; T is unsigned.
template <typename T>
TypedRow FindShift(std::string_view op) {
  constexpr unsigned kWidth = 8 * sizeof(T);
  static constexpr Row kRows[] = {
      {"ShiftLeft", Of2<T>([](T a, T b) {
         return As<T>(b < kWidth ? As<T>(std::common_type_t<T, unsigned>(a) << (b % kWidth)) : 0);
       })},
      {"ShiftRight",
       Of2<T>([](T a, T b) { return As<T>(b < kWidth ? As<T>(a >> (b % kWidth)) : 0); })},
  };
  return Find(kRows, op);
}

/// The bits of integers; T is unsigned.
template <typename T>
TypedRow FindBits(std::string_view op) {
  static constexpr Row kRows[] = {
      {"BitwiseAnd", Of2<T>([](T a, T b) { return As<T>(a & b); })},
      {"BitwiseNot", Of1<T>([](T a) { return As<T>(~a); })},
      {"BitwiseOr", Of2<T>([](T a, T b) { return As<T>(a | b); })},
      {"BitwiseXor", Of2<T>([](T a, T b) { return As<T>(a ^ b); })},
  };
  return Find(kRows, op);
}

/// What depends on the sign; T is any integer or double.
template <typename T>
TypedRow FindSigned(std::string_view op) {
  static constexpr Row kRows[] = {
      {"Abs", Of1<T>([](T a) {
         if constexpr (std::is_floating_point_v<T>)
           return std::abs(a);
         else
           return a < 0 ? As<T>(T{0} - a) : As<T>(a + 0);
       })},
      {"Clip", Of3<T>([](T a, T low, T high) { return std::min(std::max(a, low), high); })},
      {"Div", Of2<T>([](T a, T b) { return Quotient(a, b); })},
      {"Max", Of2<T>([](T a, T b) { return Larger(a, b); })},
      {"Min", Of2<T>([](T a, T b) { return Smaller(a, b); })},
      {"Relu", Of1<T>([](T a) { return a < 0 ? T{0} : a; })},
      {"Sign", Of1<T>([](T a) { return a != a ? a : As<T>((a > 0) - (a < 0)); })},
  };
  return Find(kRows, op);
}

/// The order of integers that FindWideRow does not compare.
template <typename T>
TypedRow FindOrdered(std::string_view op) {
  static constexpr TypedRow kLess = Test<T>([](T a, T b) { return a < b; }),
                            kAtMost = Test<T>([](T a, T b) { return a <= b; });
  static constexpr Row kRows[] = {
      {"Equal", Test<std::make_unsigned_t<T>>([](auto a, auto b) { return a == b; })},
      {"Greater", Swapped<kLess>},
      {"GreaterOrEqual", Swapped<kAtMost>},
      {"Less", kLess},
      {"LessOrEqual", kAtMost},
  };
  return Find(kRows, op);
}

/// T is an integer.
template <typename T>
TypedRow FindRemainder(std::string_view op) {
  static constexpr Row kRows[] = {
      {"FMod", Of2<T>([](T a, T b) { return Remainder(a, b, true); })},
      {"Mod", Of2<T>([](T a, T b) { return Remainder(a, b, false); })},
  };
  return Find(kRows, op);
}

/// Of FindOrdered.
template <typename T>
constexpr bool kIsCompared = sizeof(T) == 2 || (std::unsigned_integral<T> && sizeof(T) > 1);

template <typename T>
TypedRow FindNumeric(std::string_view op) {
  if constexpr (std::is_same_v<T, bool>) {
    return op == "Not" ? Of1<uint8_t>([](uint8_t a) { return a == 0; }) : nullptr;
  } else if constexpr (std::is_same_v<T, double>) {
    for (TypedRow (*find)(std::string_view) : {FindSignless<double>, FindSigned<double>}) {
      if (const TypedRow found = find(op); found != nullptr) return found;
    }
    return FindDoubleRow(op);
  } else if constexpr (std::integral<T>) {
    using Bits = std::make_unsigned_t<T>;
    for (TypedRow (*find)(std::string_view) :
         {FindSignless<Bits>, FindBits<Bits>, FindSigned<T>, FindRemainder<T>}) {
      if (const TypedRow found = find(op); found != nullptr) return found;
    }
    if constexpr (kIsCompared<T>) {
      if (const TypedRow found = FindOrdered<T>(op); found != nullptr) return found;
    }
    if constexpr (std::unsigned_integral<T>) return FindShift<T>(op);
  }
  return nullptr;
}

/// A float is held in the range of integers: a cast is undefined out of it.
template <typename From, typename To>
struct Conversion {
  To operator()(From value) const {
    if constexpr (std::floating_point<From> && std::integral<To> && !std::is_same_v<To, bool>) {
      // Both bounds are exact: -2^n or 0, and 2^n.
      constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());
      constexpr From kPast =
          static_cast<From>(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
      if (!(value > kLow)) return value == value ? std::numeric_limits<To>::min() : To{0};
      return value >= kPast ? std::numeric_limits<To>::max() : static_cast<To>(value);
    } else {
      return static_cast<To>(value);
    }
  }
};

template <typename T>
constexpr bool kIsNumber = std::integral<T> && !std::is_same_v<T, bool>;
/// Integers that are no bool as unsigned ones.
template <typename T, bool = kIsNumber<T>>
struct Signless {
  using Type = T;
};
template <typename T>
struct Signless<T, true> {
  using Type = std::make_unsigned_t<T>;
};

/// One loop for all conversions of the same bits: a result wraps whatever its sign, and that of the
/// operand counts where it is widened.
template <typename From, typename To>
constexpr TypedRow RowOfConversion() {
  constexpr bool kCuts = std::is_same_v<To, bool> || (kIsNumber<To> && sizeof(To) <= sizeof(From));
  using X = std::conditional_t<kCuts, typename Signless<From>::Type, From>;
  using Y = std::conditional_t<kIsNumber<From>, typename Signless<To>::Type, To>;
  return Map<Conversion<X, Y>, Y, X>;
}

bool IsPlain(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kF32 || dtype == DType::kF64 ||
         (IsInteger(dtype) && !IsSubByte(dtype));
}

}  // namespace

TypedRow FindNumericRow(DType dtype, std::string_view op) {
  const TypedRow wide = FindWideRow(dtype, op);
  return wide != nullptr ? wide : FindShortRow(dtype, op);
}

bool TakesOnce(DType dtype, std::string_view op) {
  if (FindWideRow(dtype, op) != nullptr) return true;
  return StorageBytes(dtype, 1) != 2 && (op == "Add" || op == "Mul" || op == "Sub");
}

TypedRow FindShortRow(DType dtype, std::string_view op) {
  TypedRow found = nullptr;
  if (dtype == DType::kF32 || !IsPlain(dtype)) return nullptr;
  DispatchDType(dtype, [&]<typename T>() { found = FindNumeric<T>(op); });
  return found;
}

TypedRow FindCastRow(DType from, DType to) {
  TypedRow found = nullptr;
  if (!IsPlain(from) || !IsPlain(to)) return nullptr;
  if (const TypedRow vectors = FindVectorCastRow(from, to); vectors != nullptr) return vectors;
  DispatchDType(from, [&]<typename From>() {
    DispatchDType(to, [&]<typename To>() {
      if constexpr (!kIsReducedFloat<From> && !kIsReducedFloat<To> &&
                    !IsVectorCast(DTypeOf<From>(), DTypeOf<To>()))
        found = RowOfConversion<From, To>();
    });
  });
  return found;
}

}  // namespace fettle::kernels::elementwise
