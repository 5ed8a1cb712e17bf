// compiled: plain
#include <algorithm>
#include <type_traits>

#include "kernels/cpu/reduce/arg.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/arg_integers.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// A vector of columns at a time: the last one may overlap the one before. At least a vector of
/// them. Positions are counted in elements as wide, those of bytes in blocks of so many rows: 0 is
/// that of a block before.
template <typename T, typename D>
void WideColumns(D d, const ArgRule& rule, T turned, const T* x, int64_t n, int64_t stride,
                 int64_t columns, int64_t* to) {
  using Position = hwy::MakeUnsigned<T>;
  const hn::RebindToUnsigned<D> dp;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kBlock = sizeof(T) == 1 ? 255 : int64_t{1} << 24;
  const auto turn = hn::Set(d, turned);
  HWY_ALIGN Position positions[hn::MaxLanes(hn::ScalableTag<T>())];
  for (int64_t c = 0; c < columns; c += lanes) {
    const int64_t first = c + lanes <= columns ? c : columns - lanes;
    const T* row = x + first;
    auto best = hn::Xor(hn::LoadU(d, row), turn);
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t end = begin + kBlock < n ? begin + kBlock : n;
      auto at = hn::Set(dp, static_cast<Position>(begin == 0 ? 1 : 0));
      for (int64_t r = begin == 0 ? 1 : begin; r < end; ++r) {
        const auto value = hn::Xor(hn::LoadU(d, row + r * stride), turn);
        const auto better = rule.last ? hn::Not(hn::Lt(value, best)) : hn::Lt(best, value);
        best = hn::Max(best, value);
        at = hn::IfThenElse(hn::RebindMask(dp, better),
                            hn::Set(dp, static_cast<Position>(r - begin + 1)), at);
      }
      hn::Store(at, dp, positions);
      for (int64_t i = 0; i < lanes; ++i) {
        const auto behind = static_cast<int64_t>(positions[i]);
        to[first + i] = behind == 0 ? to[first + i] : begin + behind - 1;
      }
    }
  }
}

/// Fewer columns than those: rare, and so short.
template <typename T>
void FewColumns(const ArgRule& rule, T turn, const T* x, int64_t n, int64_t stride, int64_t columns,
                int64_t* to) {
  for (int64_t i = 0; i < columns; ++i) {
    int64_t at = 0;
    for (int64_t r = 1; r < n; ++r) {
      const T value = static_cast<T>(x[r * stride + i] ^ turn);
      const T best = static_cast<T>(x[at * stride + i] ^ turn);
      if (value > best || (rule.last && value == best)) at = r;
    }
    to[i] = at;
  }
}

// Plain loops: the compiler makes vectors of this target of them.

/// A row of neighbours: the extreme of it, then where that is.
template <typename T>
HWY_INLINE int64_t Row(const ArgRule& rule, T turn, const T* x, int64_t n) {
  // Vectors of extremes: they do not wait for each other.
  constexpr int64_t kLanes = 128 / sizeof(T);
  T best = static_cast<T>(x[0] ^ turn);
  int64_t at = 0;
  if (n >= kLanes) {
    T most[kLanes];
    for (T& lane : most) lane = best;
    for (; at + kLanes <= n; at += kLanes) {
      for (int64_t i = 0; i < kLanes; ++i) {
        const T value = static_cast<T>(x[at + i] ^ turn);
        most[i] = most[i] > value ? most[i] : value;
      }
    }
    for (const T lane : most) best = best > lane ? best : lane;
  }
  for (; at < n; ++at) {
    const T value = static_cast<T>(x[at] ^ turn);
    best = best > value ? best : value;
  }
  best = static_cast<T>(best ^ turn);
  if (rule.last) {
    while (x[--n] != best) {
    }
    return n;
  }
  at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    T any = 0;
    for (int64_t i = 0; i < kLanes; ++i) any = static_cast<T>(any | (x[at + i] == best ? 1 : 0));
    if (any != 0) break;
  }
  while (x[at] != best) ++at;
  return at;
}

/// `sign`: the bit that makes unsigned numbers signed ones of the same order.
template <typename T>
void Find(const ArgRule& rule, T sign, const std::byte* x, int64_t n, int64_t stride,
          int64_t columns, int64_t* to) {
  // Bits turned over reverse the order.
  const T turn = static_cast<T>(rule.max ? sign : ~sign);
  const T* from = reinterpret_cast<const T*>(x);
  if (stride == 1) {
    *to = Row(rule, turn, from, n);
    return;
  }
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 16> few;
  if (columns >= static_cast<int64_t>(hn::Lanes(d)))
    return WideColumns(d, rule, turn, from, n, stride, columns, to);
  if constexpr (hn::MaxLanes(few) < hn::MaxLanes(d)) {
    if (columns >= static_cast<int64_t>(hn::Lanes(few)))
      return WideColumns(few, rule, turn, from, n, stride, columns, to);
  }
  FewColumns(rule, turn, from, n, stride, columns, to);
}

void ArgIntegersOnTarget(const ArgRule& rule, DType dtype, const std::byte* x, int64_t n,
                         int64_t stride, int64_t columns, int64_t* to) {
  switch (dtype) {
    case DType::kI8: return Find<int8_t>(rule, 0, x, n, stride, columns, to);
    case DType::kU8: return Find<int8_t>(rule, -128, x, n, stride, columns, to);
    case DType::kI32: return Find<int32_t>(rule, 0, x, n, stride, columns, to);
    default: return Find<int64_t>(rule, 0, x, n, stride, columns, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ArgIntegersOnTarget);

void ArgIntegers(const ArgRule& rule, DType dtype, const std::byte* x, int64_t n, int64_t stride,
                 int64_t columns, int64_t* to) {
  HWY_DYNAMIC_DISPATCH(ArgIntegersOnTarget)(rule, dtype, x, n, stride, columns, to);
}

}  // namespace fettle::kernels
#endif
