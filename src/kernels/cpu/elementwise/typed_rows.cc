#include "kernels/cpu/elementwise/typed_rows.h"

#include <algorithm>
#include <functional>
#include <type_traits>

namespace fettle::kernels::elementwise {
namespace {

// Overflow wraps: sums and products are formed in the unsigned type.
template <typename T>
using Unsigned = std::make_unsigned_t<T>;
struct AddFn {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  }
};
struct SubFn {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  }
};
struct MulFn {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
  }
};
/// Truncates; by zero gives 0, and the least value by -1 wraps.
struct DivFn {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return 0;
    if (b == -1) return SubFn()(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct MaxFn {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct MinFn {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct NegFn {
  template <typename T>
  T operator()(T a) const {
    return SubFn()(T{0}, a);
  }
};
struct AbsFn {
  template <typename T>
  T operator()(T a) const {
    return a < 0 ? SubFn()(T{0}, a) : a;
  }
};
struct ReluFn {
  template <typename T>
  T operator()(T a) const {
    return a < 0 ? T{0} : a;
  }
};

template <typename T, typename R, typename F>
void BinaryRow(const TypedRowArgs& args) {
  const auto* a = reinterpret_cast<const T*>(args.in[0]);
  const auto* b = reinterpret_cast<const T*>(args.in[1]);
  auto* y = reinterpret_cast<R*>(args.out);
  const int64_t n = args.n, sa = args.stride[0], sb = args.stride[1];
  const F f;
  if (sa == 1 && sb == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(a[i], b[i]));
  } else if (sa == 1 && sb == 0) {
    const T v = *b;
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(a[i], v));
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(a[i * sa], b[i * sb]));
  }
}

template <typename T, typename R, typename F>
void UnaryRow(const TypedRowArgs& args) {
  const auto* a = reinterpret_cast<const T*>(args.in[0]);
  auto* y = reinterpret_cast<R*>(args.out);
  const F f;
  for (int64_t i = 0; i < args.n; ++i) y[i] = static_cast<R>(f(a[i * args.stride[0]]));
}

/// `T`: any type of the element's size.
template <typename T>
void WhereRow(const TypedRowArgs& args) {
  const auto* c = reinterpret_cast<const uint8_t*>(args.in[0]);
  const auto* a = reinterpret_cast<const T*>(args.in[1]);
  const auto* b = reinterpret_cast<const T*>(args.in[2]);
  auto* y = reinterpret_cast<T*>(args.out);
  for (int64_t i = 0; i < args.n; ++i) {
    y[i] = c[i * args.stride[0]] != 0 ? a[i * args.stride[1]] : b[i * args.stride[2]];
  }
}

template <typename From, typename To>
void CastRow(const TypedRowArgs& args) {
  const auto* a = reinterpret_cast<const From*>(args.in[0]);
  auto* y = reinterpret_cast<To*>(args.out);
  for (int64_t i = 0; i < args.n; ++i) y[i] = static_cast<To>(a[i * args.stride[0]]);
}

template <typename T>
TypedRow FindNumeric(std::string_view op) {
  struct Row {
    std::string_view op;
    TypedRow function;
  };
  static constexpr Row kRows[] = {
      {"Add", BinaryRow<T, T, AddFn>},
      {"Sub", BinaryRow<T, T, SubFn>},
      {"Mul", BinaryRow<T, T, MulFn>},
      {"Div", BinaryRow<T, T, DivFn>},
      {"Max", BinaryRow<T, T, MaxFn>},
      {"Min", BinaryRow<T, T, MinFn>},
      {"Equal", BinaryRow<T, uint8_t, std::equal_to<T>>},
      {"Less", BinaryRow<T, uint8_t, std::less<T>>},
      {"LessOrEqual", BinaryRow<T, uint8_t, std::less_equal<T>>},
      {"Greater", BinaryRow<T, uint8_t, std::greater<T>>},
      {"GreaterOrEqual", BinaryRow<T, uint8_t, std::greater_equal<T>>},
      {"BitwiseAnd", BinaryRow<T, T, std::bit_and<T>>},
      {"BitwiseOr", BinaryRow<T, T, std::bit_or<T>>},
      {"BitwiseXor", BinaryRow<T, T, std::bit_xor<T>>},
      {"Neg", UnaryRow<T, T, NegFn>},
      {"Abs", UnaryRow<T, T, AbsFn>},
      {"Relu", UnaryRow<T, T, ReluFn>},
      {"BitwiseNot", UnaryRow<T, T, std::bit_not<T>>},
  };
  const auto* at = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& row) { return row.op == op; });
  return at == std::end(kRows) ? nullptr : at->function;
}

bool IsWhole(DType dtype) {
  return dtype == DType::kBool || (IsInteger(dtype) && !IsSubByte(dtype));
}

}  // namespace

TypedRow FindNumericRow(DType dtype, std::string_view op) {
  if (dtype == DType::kI32) return FindNumeric<int32_t>(op);
  if (dtype == DType::kI64) return FindNumeric<int64_t>(op);
  return nullptr;
}

TypedRow FindWhereRow(DType dtype) {
  switch (ByteSize(dtype)) {
    case 1: return WhereRow<uint8_t>;
    case 2: return WhereRow<uint16_t>;
    case 4: return WhereRow<uint32_t>;
    case 8: return WhereRow<uint64_t>;
    default: return nullptr;
  }
}

TypedRow FindCastRow(DType from, DType to) {
  TypedRow found = nullptr;
  if (!IsWhole(from) || !IsWhole(to)) return nullptr;
  DispatchDType(from, [&]<typename From>() {
    DispatchDType(to, [&]<typename To>() {
      if constexpr (!kIsFloating<From> && !kIsFloating<To>) found = CastRow<From, To>;
    });
  });
  return found;
}

}  // namespace fettle::kernels::elementwise
