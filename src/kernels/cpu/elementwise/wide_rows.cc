// compiled: by hand
#include "kernels/cpu/elementwise/wide_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/wide_rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Of the widest vector.
constexpr int64_t kVectorBytes = 64;

/// The operands of a loop, and where its results go.
struct Operands {
  const std::byte* in[2];
  std::byte* out;
  int64_t n;         // whole vectors
  int64_t masks[2];  // of an operand's element: 0 where its first vector is all that it has
};

/// y = f(a, b).
template <typename T, typename R, class F>
HWY_INLINE void Map(const F& f, const Operands& operands) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<R, decltype(d)> dr;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const T *a = reinterpret_cast<const T*>(operands.in[0]),
          *b = reinterpret_cast<const T*>(operands.in[1]);
  const int64_t n = operands.n, mask_a = operands.masks[0], mask_b = operands.masks[1];
  R* y = reinterpret_cast<R*>(operands.out);
  for (int64_t i = 0; i < n; i += lanes)
    hn::StoreU(f(hn::LoadU(d, a + (i & mask_a)), hn::LoadU(d, b + (i & mask_b))), dr, y + i);
}

/// 1 where the mask is set, as bytes, turned over by `invert`.
template <class D, class M>
HWY_INLINE auto Bytes(D, M mask, uint8_t invert) {
  using T = hn::TFromD<D>;
  const hn::Rebind<uint8_t, D> db;
  const hn::Rebind<hwy::MakeUnsigned<T>, D> du;
  const auto ones = hn::IfThenElseZero(hn::RebindMask(du, mask), hn::Set(du, 1));
  if constexpr (sizeof(T) == 1) {
    return hn::Xor(ones, hn::Set(db, invert));
  } else {
    return hn::Xor(hn::TruncateTo(db, ones), hn::Set(db, invert));
  }
}

template <typename T>
void Compare(WideOp op, const Operands& x) {
  const hn::ScalableTag<T> d;
  if (op == WideOp::kEqual)
    return Map<T, uint8_t>([&](auto a, auto b) HWY_ATTR { return Bytes(d, hn::Eq(a, b), 0); }, x);
  if constexpr (std::is_floating_point_v<T>) {
    if (op == WideOp::kLessOrEqual)
      return Map<T, uint8_t>([&](auto a, auto b) HWY_ATTR { return Bytes(d, hn::Le(a, b), 0); }, x);
  }
  const uint8_t invert = op == WideOp::kNotLess ? 1 : 0;
  Map<T, uint8_t>([&](auto a, auto b) HWY_ATTR { return Bytes(d, hn::Lt(a, b), invert); }, x);
}

/// NaN as the first operand wins.
template <typename T>
void Extreme(WideOp op, const Operands& x) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool max = op == WideOp::kMax;
    Map<T, T>(
        [&](auto a, auto b) HWY_ATTR {
          const auto first = max ? hn::Lt(b, a) : hn::Lt(a, b);
          return hn::IfThenElse(hn::Or(hn::IsNaN(a), first), a, b);
        },
        x);
  } else if (op == WideOp::kMax) {
    Map<T, T>([](auto a, auto b) HWY_ATTR { return hn::Max(a, b); }, x);
  } else {
    Map<T, T>([](auto a, auto b) HWY_ATTR { return hn::Min(a, b); }, x);
  }
}

void Logic(WideOp op, const Operands& x) {
  const hn::ScalableTag<uint8_t> d;
  const auto one = hn::Set(d, 1);
  if (op == WideOp::kAnd)
    return Map<uint8_t, uint8_t>(
        [&](auto a, auto b) HWY_ATTR { return hn::And(hn::Min(a, one), hn::Min(b, one)); }, x);
  if (op == WideOp::kOr)
    return Map<uint8_t, uint8_t>(
        [&](auto a, auto b) HWY_ATTR { return hn::Min(hn::Or(a, b), one); }, x);
  const auto same = hn::Set(d, op == WideOp::kSame ? 1 : 0);
  Map<uint8_t, uint8_t>(
      [&](auto a, auto b)
          HWY_ATTR { return hn::Xor(hn::Xor(hn::Min(a, one), hn::Min(b, one)), same); },
      x);
}

/// Truncates; by zero gives 0, and the least value by -1 wraps. Quotients are exact in double.
void Divide(const Operands& x) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<int32_t, decltype(wide)> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto *a = reinterpret_cast<const int32_t*>(x.in[0]),
             *b = reinterpret_cast<const int32_t*>(x.in[1]);
  auto* y = reinterpret_cast<int32_t*>(x.out);
  for (int64_t i = 0; i < x.n; i += lanes) {
    const auto of = hn::LoadU(d, a + (i & x.masks[0])), by = hn::LoadU(d, b + (i & x.masks[1]));
    const auto none = hn::Eq(by, hn::Zero(d));
    const auto divisor = hn::PromoteTo(wide, hn::IfThenElse(none, hn::Set(d, 1), by));
    const auto quotient = hn::DemoteTo(d, hn::Div(hn::PromoteTo(wide, of), divisor));
    const auto wrapped = hn::IfThenElse(hn::Eq(by, hn::Set(d, -1)), hn::Neg(of), quotient);
    hn::StoreU(hn::IfThenZeroElse(none, wrapped), d, y + i);
  }
}

/// Products of bytes: those of even and odd ones apart.
HWY_NOINLINE void MultiplyBytes(const Operands& x) {
  using T = uint8_t;
#if HWY_TARGET == HWY_SCALAR
  Map<T, T>([](auto a, auto b)
                HWY_ATTR { return decltype(a)(static_cast<T>(hn::GetLane(a) * hn::GetLane(b))); },
            x);
#else
  const hn::ScalableTag<T> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  const auto low = hn::Set(wide, 0xff);
  Map<T, T>(
      [&](auto a, auto b) HWY_ATTR {
        const auto p = hn::BitCast(wide, a), q = hn::BitCast(wide, b);
        const auto odd = hn::Mul(hn::ShiftRight<8>(p), hn::ShiftRight<8>(q));
        return hn::BitCast(d, hn::Or(hn::And(hn::Mul(p, q), low), hn::ShiftLeft<8>(odd)));
      },
      x);
#endif
}

template <typename T>
void OfType(WideOp op, const Operands& x) {
  if (op == WideOp::kMax || op == WideOp::kMin) return Extreme<T>(op, x);
  if constexpr (std::is_same_v<T, uint8_t>) {
    if (op == WideOp::kMul) return MultiplyBytes(x);
  }
  if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) {
    if (op == WideOp::kMul)
      return Map<T, T>([](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); }, x);
  }
  Compare<T>(op, x);
}

void Run(WideOp op, DType dtype, const Operands& x) {
  if (op == WideOp::kAbs)
    return Map<int8_t, int8_t>([](auto a, auto) HWY_ATTR { return hn::Abs(a); }, x);
  if (op == WideOp::kNeg)
    return Map<int8_t, int8_t>([](auto a, auto) HWY_ATTR { return hn::Neg(a); }, x);
  if (op == WideOp::kDiv) return Divide(x);
  switch (dtype) {
    case DType::kBool: return Logic(op, x);
    case DType::kI8: return OfType<int8_t>(op, x);
    case DType::kU8: return OfType<uint8_t>(op, x);
    case DType::kI32: return OfType<int32_t>(op, x);
    case DType::kI64: return OfType<int64_t>(op, x);
    case DType::kF32: return Compare<float>(op, x);
    default: return OfType<double>(op, x);
  }
}

/// A vector of one element of so many bytes.
void Spread(int64_t bytes, const std::byte* from, std::byte* to) {
  const auto spread = [&]<typename T>(T value) HWY_ATTR {
    std::memcpy(&value, from, sizeof(T));
    const hn::ScalableTag<T> d;
    hn::StoreU(hn::Set(d, value), d, reinterpret_cast<T*>(to));
  };
  switch (bytes) {
    case 1: return spread(uint8_t{});
    case 4: return spread(uint32_t{});
    default: return spread(uint64_t{});
  }
}

/// A last vector that is not whole begins before, where there is one before and the results do not
/// lie where an operand does. Otherwise it is computed first, of copies, and stored last.
void WideOnTarget(WideOp op, DType dtype, const std::byte* const* operands, std::byte* out,
                  int64_t n, unsigned once) {
  constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<uint8_t>());
  const int64_t bytes = ByteSize(dtype), lanes = std::max<int64_t>(1, kLanes / bytes);
  const bool same = op <= WideOp::kNeg || op >= WideOp::kMax;
  const int64_t out_bytes = same ? bytes : 1, left = n & (lanes - 1), whole = n - left;
  const int64_t masks[] = {(once & 1) != 0 ? 0 : ~int64_t{0}, (once & 2) != 0 ? 0 : ~int64_t{0}};
  HWY_ALIGN std::byte spread[2][kVectorBytes];
  const std::byte* in[] = {operands[0], operands[1]};
  for (int k = 0; k < 2; ++k) {
    if (masks[k] != 0) continue;
    Spread(bytes, in[k], spread[k]);
    in[k] = spread[k];
  }
  const auto run = [&](int64_t at, int64_t count) {
    Run(op, dtype,
        {{in[0] + (at & masks[0]) * bytes, in[1] + (at & masks[1]) * bytes},
         out + at * out_bytes,
         count,
         {masks[0], masks[1]}});
  };
  if (left == 0) return run(0, whole);
  if (whole > 0 && out != in[0] && out != in[1]) {
    run(0, whole);
    return run(n - lanes, lanes);
  }
  HWY_ALIGN std::byte rests[3][kVectorBytes];
  for (int k = 0; k < 2; ++k)
    std::memcpy(rests[k], in[k] + (whole & masks[k]) * bytes, left * bytes);
  Run(op, dtype, {{rests[0], rests[1]}, rests[2], lanes, {~0, ~0}});
  if (whole > 0) run(0, whole);
  std::memcpy(out + whole * out_bytes, rests[2], left * out_bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels::elementwise {

HWY_EXPORT(WideOnTarget);

namespace {

/// Whether one of two bools alone says what all results are, which are written then.
bool IsDecided(WideOp op, const std::byte* const* in, std::byte* out, int64_t n, unsigned once) {
  for (unsigned k = 0; k < 2; ++k) {
    if ((once >> k & 1) == 0) continue;
    const bool value = in[k][0] != std::byte{0};
    if (value != (op == WideOp::kOr)) continue;
    std::memset(out, value ? 1 : 0, n);
    return true;
  }
  return false;
}

template <WideOp kOp, DType kType, bool kSwaps>
void Row(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n, unsigned once) {
  const std::byte* second = in[1] == nullptr ? in[0] : in[1];
  const std::byte* const operands[] = {kSwaps ? second : in[0], kSwaps ? in[0] : second};
  if constexpr (kOp == WideOp::kAnd || kOp == WideOp::kOr) {
    if (IsDecided(kOp, operands, out, n, once)) return;
  }
  const unsigned swapped = (once & 1) << 1 | (once >> 1 & 1);
  HWY_DYNAMIC_DISPATCH(WideOnTarget)(kOp, kType, operands, out, n, kSwaps ? swapped : once);
}

/// Clip: bounded from below, then from above where the results lie.
[[gnu::noinline]] void BoundOf(DType dtype, const std::byte* const* in, std::byte* out, int64_t n,
                               unsigned once) {
  const std::byte *const low[] = {in[0], in[1]}, *const high[] = {out, in[2]};
  HWY_DYNAMIC_DISPATCH(WideOnTarget)(WideOp::kMax, dtype, low, out, n, once & 3);
  HWY_DYNAMIC_DISPATCH(WideOnTarget)(WideOp::kMin, dtype, high, out, n, once >> 1 & 2);
}
template <DType kType>
void Bound(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n, unsigned once) {
  BoundOf(kType, in, out, n, once);
}

struct Rule {
  std::string_view op;
  TypedRow function;
};
TypedRow Find(std::span<const Rule> rules, std::string_view op) {
  const auto at = std::ranges::find(rules, op, &Rule::op);
  return at == rules.end() ? nullptr : at->function;
}

TypedRow FindLogic(std::string_view op) {
  static constexpr Rule kRules[] = {{"And", Row<WideOp::kAnd, DType::kBool, false>},
                                    {"Or", Row<WideOp::kOr, DType::kBool, false>},
                                    {"Xor", Row<WideOp::kXor, DType::kBool, false>},
                                    {"Equal", Row<WideOp::kSame, DType::kBool, false>}};
  return Find(kRules, op);
}

template <DType kType>
TypedRow FindOrdered(std::string_view op) {
  constexpr bool kHasNan = kType == DType::kF64 || kType == DType::kF32;
  // a <= b is not b < a, but with NaN.
  constexpr WideOp kAtMost = kHasNan ? WideOp::kLessOrEqual : WideOp::kNotLess;
  static constexpr Rule kRules[] = {{"Equal", Row<WideOp::kEqual, kType, false>},
                                    {"Greater", Row<WideOp::kLess, kType, true>},
                                    {"GreaterOrEqual", Row<kAtMost, kType, kHasNan>},
                                    {"Less", Row<WideOp::kLess, kType, false>},
                                    {"LessOrEqual", Row<kAtMost, kType, !kHasNan>},
                                    {"Max", Row<WideOp::kMax, kType, false>},
                                    {"Min", Row<WideOp::kMin, kType, false>},
                                    {kHasNan ? "" : "Clip", kHasNan ? nullptr : Bound<kType>}};
  return Find(kRules, op);
}

}  // namespace

TypedRow FindWideRow(DType dtype, std::string_view op) {
  if (op == "Mul") {
    if (dtype == DType::kI8 || dtype == DType::kU8) return Row<WideOp::kMul, DType::kU8, false>;
    if (dtype == DType::kI32 || dtype == DType::kU32) return Row<WideOp::kMul, DType::kI32, false>;
    if (dtype == DType::kI64 || dtype == DType::kU64) return Row<WideOp::kMul, DType::kI64, false>;
  }
  if (op == "Div" && dtype == DType::kI32) return Row<WideOp::kDiv, DType::kI32, false>;
  switch (dtype) {
    case DType::kBool: return FindLogic(op);
    case DType::kI8:
      if (op == "Neg") return Row<WideOp::kNeg, DType::kI8, false>;
      return op == "Abs" ? Row<WideOp::kAbs, DType::kI8, false> : FindOrdered<DType::kI8>(op);
    case DType::kU8: return FindOrdered<DType::kU8>(op);
    case DType::kI32: return FindOrdered<DType::kI32>(op);
    case DType::kI64: return FindOrdered<DType::kI64>(op);
    case DType::kF64: return FindOrdered<DType::kF64>(op);
    case DType::kF32: return op == "Max" || op == "Min" ? nullptr : FindOrdered<DType::kF32>(op);
    case DType::kU32: return op == "Equal" ? FindOrdered<DType::kI32>(op) : nullptr;
    case DType::kU64: return op == "Equal" ? FindOrdered<DType::kI64>(op) : nullptr;
    default: return nullptr;
  }
}

}  // namespace fettle::kernels::elementwise
#endif
