// The functions of two operands or more, and the oracle that folds them over broadcast operands.
#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>

#include "ops/elementwise/op.h"
#include "ops/walk.h"

namespace fettle::ops {
namespace {

using P = const ElementwiseParams&;

/// A row from a generic lambda, used for doubles and both integers.
template <typename F>
constexpr FoldRow Number(std::string_view name, F) {
  return {
      .name = name,
      .types = kNumericTypes,
      .on_double = [](double a, double b, P p) { return static_cast<double>(F{}(a, b, p)); },
      .on_int = [](int64_t a, int64_t b, P p) { return static_cast<int64_t>(F{}(a, b, p)); },
      .on_uint = [](uint64_t a, uint64_t b, P p) { return static_cast<uint64_t>(F{}(a, b, p)); }};
}

template <typename F>
constexpr FoldRow Test(std::string_view name, F f) {
  FoldRow row = Number(name, f);
  row.to_bool = true;
  return row;
}

template <typename F>
constexpr FoldRow Variadic(std::string_view name, F f) {
  FoldRow row = Number(name, f);
  row.variadic = true;
  return row;
}

constexpr FoldRow Logic(std::string_view name, bool (*f)(bool, bool, P)) {
  return {.name = name, .types = kBoolType, .on_bool = f};
}

template <typename F>
constexpr FoldRow Bits(std::string_view name, F) {
  return {.name = name,
          .types = kIntegerTypes,
          .on_int = [](int64_t a, int64_t b, P) { return static_cast<int64_t>(F{}(a, b)); },
          .on_uint = [](uint64_t a, uint64_t b, P) { return static_cast<uint64_t>(F{}(a, b)); }};
}

constexpr FoldRow Equal() {
  FoldRow row = Test("Equal", [](auto a, auto b, P) { return a == b; });
  row.types |= kBoolType;
  row.on_bool = [](bool a, bool b, P) { return a == b; };
  return row;
}

constexpr FoldRow Mean() {
  return {.name = "Mean",
          .types = kFloatTypes,
          .on_double = [](double a, double b, P) { return a + b; },
          .variadic = true,
          .mean = true};
}

/// Applies `f` to unsigned images of integers, so that overflow wraps.
template <typename T, typename F>
T Wrapping(T a, T b, F f) {
  if constexpr (std::same_as<T, double>) return f(a, b);
  return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

template <typename T>
T Add(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x + y; });
}
template <typename T>
T Subtract(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x - y; });
}
template <typename T>
T Multiply(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x * y; });
}

/// Integers truncate; a division by zero gives 0, the one quotient without an answer wraps.
template <typename T>
T Divide(T a, T b) {
  if constexpr (std::same_as<T, double>) return a / b;
  if (b == 0) return 0;
  if constexpr (std::same_as<T, int64_t>) {
    if (b == -1) return static_cast<T>(0 - static_cast<uint64_t>(a));
  }
  return static_cast<T>(a / b);
}

/// The remainder has the sign of the divisor, or that of the dividend with fmod = 1.
template <typename T>
T Modulo(T a, T b, P p) {
  const bool c_sign = p.a != 0;
  if constexpr (std::same_as<T, double>) {
    const double r = std::fmod(a, b);
    if (c_sign || std::isnan(r)) return r;
    if (r == 0) return std::copysign(r, b);
    return (r < 0) != (b < 0) ? r + b : r;
  } else {
    if (b == 0) return 0;
    if constexpr (std::same_as<T, int64_t>) {
      if (b == -1) return 0;
    }
    const T r = static_cast<T>(a % b);
    return !c_sign && r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
  }
}

/// NaN wins, as in NumPy.
template <typename T>
T Larger(T a, T b) {
  return a != a || a > b ? a : b;
}
template <typename T>
T Smaller(T a, T b) {
  return a != a || a < b ? a : b;
}

uint64_t Shift(uint64_t a, uint64_t b, P p) {
  if (b > 63) return 0;
  return p.a != 0 ? a << b : a >> b;
}

/// A negative shift counts as one past the width. To the right the sign fills; what a left shift
/// moves past the width is cut off where the result is stored.
int64_t ShiftSigned(int64_t a, int64_t b, P p) {
  const bool past = b < 0 || b > 63;
  if (p.a == 0) return past ? (a < 0 ? -1 : 0) : a >> b;
  return past ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
}

constexpr FoldRow Mod() {
  FoldRow row = Number("Mod", [](auto a, auto b, P p) { return Modulo(a, b, p); });
  row.attribute = {"fmod", 0};
  return row;
}

constexpr FoldRow kFolds[] = {
    // keep-sorted start
    Number("Add", [](auto a, auto b, P) { return Add(a, b); }),
    Logic("And", [](bool a, bool b, P) { return a && b; }),
    {.name = "BitShift",
     .types = kIntegerTypes,
     .on_int = ShiftSigned,
     .on_uint = Shift,
     .attribute = {"direction", 0, "LEFT"}},
    Bits("BitwiseAnd", [](auto a, auto b) { return a & b; }),
    Bits("BitwiseOr", [](auto a, auto b) { return a | b; }),
    Bits("BitwiseXor", [](auto a, auto b) { return a ^ b; }),
    Number("Div", [](auto a, auto b, P) { return Divide(a, b); }),
    Equal(),
    Test("Greater", [](auto a, auto b, P) { return a > b; }),
    Test("GreaterOrEqual", [](auto a, auto b, P) { return a >= b; }),
    Test("Less", [](auto a, auto b, P) { return a < b; }),
    Test("LessOrEqual", [](auto a, auto b, P) { return a <= b; }),
    Variadic("Max", [](auto a, auto b, P) { return Larger(a, b); }),
    Mean(),
    Variadic("Min", [](auto a, auto b, P) { return Smaller(a, b); }),
    Mod(),
    Number("Mul", [](auto a, auto b, P) { return Multiply(a, b); }),
    Logic("Or", [](bool a, bool b, P) { return a || b; }),
    Number("PRelu", [](auto a, auto b, P) { return a < 0 ? Multiply(a, b) : a; }),
    Number("Sub", [](auto a, auto b, P) { return Subtract(a, b); }),
    Variadic("Sum", [](auto a, auto b, P) { return Add(a, b); }),
    Logic("Xor", [](bool a, bool b, P) { return a != b; }),
    // keep-sorted end
};

}  // namespace

std::span<const FoldRow> FoldRows() { return kFolds; }

const FoldRow* FindFold(std::string_view op) { return FindRow(FoldRows(), op); }

Status FoldReference(const RefContext& context, const Region& region) {
  const HostView& y = context.outputs[0];
  const FoldRow& row = *FindFold(context.node.op);
  const ElementwiseParams params = ReadElementwise(context.node);
  const size_t count = context.inputs.size();
  std::vector<Dims> strides;
  for (const HostView& input : context.inputs) strides.push_back(BroadcastStrides(input, y.shape));
  strides.push_back(y.strides);
  Walker walk(y.shape, std::move(strides), region.begin);
  DispatchDType(context.inputs[0].dtype, [&]<typename T>() {
    const auto f = FunctionOf<T>(row);
    for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
      Wide<T> value = Widen(context.inputs[0].as<T>()[walk[0]]);
      for (size_t k = 1; k < count; ++k)
        value = f(value, Widen(context.inputs[k].as<T>()[walk[k]]), params);
      if (row.to_bool) {
        y.as<bool>()[walk[count]] = value != 0;
      } else if (row.mean) {
        y.as<T>()[walk[count]] = Narrow<T>(static_cast<double>(value) / static_cast<double>(count));
      } else {
        y.as<T>()[walk[count]] = Narrow<T>(value);
      }
    }
  });
  return OkStatus();
}

}  // namespace fettle::ops
