// compiled: plain
#include "kernels/cpu/select/keys.h"

#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/select/keys.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A row; the compiler makes vectors of this target of the loops.
template <typename S, typename Key>
HWY_INLINE void KeysOfRow(const KeyOrder& order, const S* HWY_RESTRICT x, int64_t n,
                          Key* HWY_RESTRICT keys) {
  const S flip = static_cast<S>(order.largest ? -1 : 0);
  if (order.infinity == 0) {
    const S turn = static_cast<S>(static_cast<S>(order.turn) ^ flip);
    for (int64_t i = 0; i < n; ++i) keys[i] = static_cast<S>(x[i] ^ turn);
    return;
  }
  const S infinity = static_cast<S>(order.infinity), most = std::numeric_limits<S>::max();
  for (int64_t i = 0; i < n; ++i) {
    const S magnitude = static_cast<S>(x[i] & most);
    const S sign = static_cast<S>(x[i] < 0 ? -1 : 0);
    const S key = static_cast<S>((magnitude ^ sign) - sign);
    keys[i] = static_cast<S>((magnitude > infinity ? most : key) ^ flip);
  }
}

template <typename S, typename Key>
void KeysOfRows(const KeyOrder& order, const std::byte* x, int64_t rows, int64_t columns,
                int64_t step, int64_t key_step, Key* keys) {
  const S* from = reinterpret_cast<const S*>(x);
  // The number of columns is left unknown: loops that are unrolled whole become no vectors.
  for (int64_t row = 0; row < rows; ++row, from += step, keys += key_step)
    KeysOfRow(order, from, columns, keys);
}

/// Integers of 8 bytes as keys of 4; whether all fit.
bool NarrowKeys(const KeyOrder& order, const int64_t* x, int64_t rows, int64_t columns,
                int64_t step, int64_t key_step, int32_t* keys) {
  if (HWY_TARGET == HWY_SCALAR) return false;  // where short keys gain nothing
  const int64_t turn = static_cast<int64_t>(order.turn) ^ (order.largest ? -1 : 0);
  for (int64_t row = 0; row < rows; ++row, x += step, keys += key_step) {
    int64_t beyond = 0;
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t key = x[i] ^ turn;
      keys[i] = static_cast<int32_t>(key);
      beyond |= key ^ static_cast<int32_t>(key);
    }
    if (beyond != 0) return false;
  }
  return true;
}

bool ShortKeysOnTarget(const KeyOrder& order, const std::byte* x, int64_t rows, int64_t columns,
                       int64_t step, int64_t key_step, int32_t* keys) {
  switch (order.bytes) {
    case 1: KeysOfRows<int8_t>(order, x, rows, columns, step, key_step, keys); break;
    case 2: KeysOfRows<int16_t>(order, x, rows, columns, step, key_step, keys); break;
    case 4: KeysOfRows<int32_t>(order, x, rows, columns, step, key_step, keys); break;
    default:
      return order.infinity == 0 && NarrowKeys(order, reinterpret_cast<const int64_t*>(x), rows,
                                               columns, step, key_step, keys);
  }
  return true;
}
void LongKeysOnTarget(const KeyOrder& order, const std::byte* x, int64_t rows, int64_t columns,
                      int64_t step, int64_t key_step, int64_t* keys) {
  KeysOfRows<int64_t>(order, x, rows, columns, step, key_step, keys);
}

template <typename Key>
HWY_INLINE int64_t Below(const Key* keys, int64_t begin, int64_t end, Key limit) {
  const hn::ScalableTag<Key> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limits = hn::Set(d, limit);
  int64_t i = begin;
  for (; i + 2 * lanes <= end; i += 2 * lanes) {
    const auto a = hn::Lt(hn::LoadU(d, keys + i), limits);
    const auto b = hn::Lt(hn::LoadU(d, keys + i + lanes), limits);
    if (hn::AllFalse(d, hn::Or(a, b))) continue;
    const intptr_t at = hn::FindFirstTrue(d, a);
    return at >= 0 ? i + at : i + lanes + hn::FindFirstTrue(d, b);
  }
  while (i < end && keys[i] >= limit) ++i;
  return i;
}
int64_t ShortBelowOnTarget(const int32_t* keys, int64_t begin, int64_t end, int32_t limit) {
  return Below(keys, begin, end, limit);
}
int64_t LongBelowOnTarget(const int64_t* keys, int64_t begin, int64_t end, int64_t limit) {
  return Below(keys, begin, end, limit);
}

template <typename Key>
HWY_INLINE void Least(const Key* keys, int64_t n, int64_t groups, Key* least) {
  const hn::CappedTag<Key, kKeyColumns> d;
  for (int64_t g = 0; g < groups; g += static_cast<int64_t>(hn::Lanes(d))) {
    auto first = hn::LoadU(d, keys + g);
    for (int64_t i = g + groups; i - g + groups <= n; i += groups)
      first = hn::Min(first, hn::LoadU(d, keys + i));
    hn::StoreU(first, d, least + g);
  }
}
void ShortLeastOnTarget(const int32_t* keys, int64_t n, int64_t groups, int32_t* least) {
  Least(keys, n, groups, least);
}
void LongLeastOnTarget(const int64_t* keys, int64_t n, int64_t groups, int64_t* least) {
  Least(keys, n, groups, least);
}

template <typename Key>
HWY_INLINE int64_t RowBelow(const Key* keys, int64_t begin, int64_t end, const Key* limits) {
  const hn::CappedTag<Key, kKeyColumns> d;
  for (int64_t row = begin; row < end; ++row) {
    const Key* from = keys + row * kKeyColumns;
    auto any = hn::Lt(hn::LoadU(d, from), hn::LoadU(d, limits));
    for (size_t i = hn::Lanes(d); i < kKeyColumns; i += hn::Lanes(d))
      any = hn::Or(any, hn::Lt(hn::LoadU(d, from + i), hn::LoadU(d, limits + i)));
    if (!hn::AllFalse(d, any)) return row;
  }
  return end;
}
int64_t ShortRowBelowOnTarget(const int32_t* keys, int64_t begin, int64_t end,
                              const int32_t* limits) {
  return RowBelow(keys, begin, end, limits);
}
int64_t LongRowBelowOnTarget(const int64_t* keys, int64_t begin, int64_t end,
                             const int64_t* limits) {
  return RowBelow(keys, begin, end, limits);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ShortKeysOnTarget);
HWY_EXPORT(LongKeysOnTarget);
HWY_EXPORT(ShortBelowOnTarget);
HWY_EXPORT(LongBelowOnTarget);
HWY_EXPORT(ShortLeastOnTarget);
HWY_EXPORT(LongLeastOnTarget);
HWY_EXPORT(ShortRowBelowOnTarget);
HWY_EXPORT(LongRowBelowOnTarget);

KeyOrder::KeyOrder(DType dtype, bool largest) : bytes(ByteSize(dtype)), largest(largest) {
  if (!IsFloat(dtype) && !IsSigned(dtype)) turn = uint64_t{1} << (8 * bytes - 1);
  switch (dtype) {
    case DType::kF8E4M3FN: infinity = 0x7e; break;  // has no infinity
    case DType::kF8E5M2: infinity = 0x7c; break;
    case DType::kF16: infinity = 0x7c00; break;
    case DType::kBF16: infinity = 0x7f80; break;
    case DType::kF32: infinity = 0x7f800000; break;
    case DType::kF64: infinity = 0x7ff0000000000000; break;
    default: break;
  }
}

template <>
bool MakeKeys(const KeyOrder& order, const std::byte* x, int64_t rows, int64_t columns,
              int64_t step, int64_t key_step, int32_t* keys) {
  return HWY_DYNAMIC_DISPATCH(ShortKeysOnTarget)(order, x, rows, columns, step, key_step, keys);
}
template <>
bool MakeKeys(const KeyOrder& order, const std::byte* x, int64_t rows, int64_t columns,
              int64_t step, int64_t key_step, int64_t* keys) {
  HWY_DYNAMIC_DISPATCH(LongKeysOnTarget)(order, x, rows, columns, step, key_step, keys);
  return true;
}

template <>
int64_t FirstBelow(const int32_t* keys, int64_t begin, int64_t end, int32_t limit) {
  return HWY_DYNAMIC_DISPATCH(ShortBelowOnTarget)(keys, begin, end, limit);
}
template <>
int64_t FirstBelow(const int64_t* keys, int64_t begin, int64_t end, int64_t limit) {
  return HWY_DYNAMIC_DISPATCH(LongBelowOnTarget)(keys, begin, end, limit);
}

template <>
void LeastOfGroups(const int32_t* keys, int64_t n, int64_t groups, int32_t* least) {
  HWY_DYNAMIC_DISPATCH(ShortLeastOnTarget)(keys, n, groups, least);
}
template <>
void LeastOfGroups(const int64_t* keys, int64_t n, int64_t groups, int64_t* least) {
  HWY_DYNAMIC_DISPATCH(LongLeastOnTarget)(keys, n, groups, least);
}

template <>
int64_t FirstRowBelow(const int32_t* keys, int64_t begin, int64_t end, const int32_t* limits) {
  return HWY_DYNAMIC_DISPATCH(ShortRowBelowOnTarget)(keys, begin, end, limits);
}
template <>
int64_t FirstRowBelow(const int64_t* keys, int64_t begin, int64_t end, const int64_t* limits) {
  return HWY_DYNAMIC_DISPATCH(LongRowBelowOnTarget)(keys, begin, end, limits);
}

}  // namespace fettle::kernels
#endif
