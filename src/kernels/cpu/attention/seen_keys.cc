// compiled: by hand
#include "kernels/cpu/attention/seen_keys.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/seen_keys.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE bool IsHidden(float x, float limit) { return x <= limit; }
HWY_INLINE bool IsHidden(uint8_t x, uint8_t where) { return x == where; }
template <class V>
HWY_INLINE bool AllHidden(hn::ScalableTag<float> d, V x, float limit) {
  return hn::AllTrue(d, hn::Le(x, hn::Set(d, limit)));
}
template <class V>
HWY_INLINE bool AllHidden(hn::ScalableTag<uint8_t> d, V x, uint8_t where) {
  return hn::AllTrue(d, hn::Eq(x, hn::Set(d, where)));
}

/// From the first to the last of a row's elements that are not hidden; nothing where all are.
template <typename T>
HWY_INLINE KeyRange Seen(const T* x, T hidden, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t end = n, begin = 0;
  while (end >= lanes && AllHidden(d, hn::LoadU(d, x + end - lanes), hidden)) end -= lanes;
  while (end > 0 && IsHidden(x[end - 1], hidden)) --end;
  while (begin + lanes <= end && AllHidden(d, hn::LoadU(d, x + begin), hidden)) begin += lanes;
  while (begin < end && IsHidden(x[begin], hidden)) ++begin;
  return {begin, end};
}

KeyRange SeenOnTarget(const MaskRows& mask, int64_t row, int64_t keys) {
  const int64_t at = row * mask.row_stride;
  // One element may stand for all keys.
  const int64_t count = mask.column_stride == 0 ? 1 : keys;
  const KeyRange seen = mask.added != nullptr
                            ? Seen(mask.added + at, mask.limit, count)
                            : Seen(mask.condition + at, static_cast<uint8_t>(mask.where), count);
  return count == keys || seen.begin == seen.end ? seen : KeyRange{0, keys};
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {
namespace {

HWY_EXPORT(SeenOnTarget);

bool Sees(std::span<const MaskRows> masks, int64_t row, int64_t key) {
  return std::ranges::all_of(masks, [&](const MaskRows& mask) {
    const int64_t at = row * mask.row_stride + key * mask.column_stride;
    return mask.added != nullptr ? !(mask.added[at] <= mask.limit)
                                 : mask.condition[at] != static_cast<uint8_t>(mask.where);
  });
}

}  // namespace

KeyRange SeenKeys(std::span<const MaskRows> masks, int64_t rows, int64_t keys) {
  const KeyRange all{0, keys};
  bool are_alike = true;
  for (const MaskRows& mask : masks) {
    if (mask.column_stride != 0 && mask.column_stride != 1) return all;
    are_alike &= mask.row_stride == 0;
  }
  if (masks.empty() || keys == 0) return all;
  KeyRange seen{keys, 0};
  for (int64_t r = 0; r < (are_alike ? std::min<int64_t>(rows, 1) : rows); ++r) {
    KeyRange row = all;
    for (const MaskRows& mask : masks) {
      const KeyRange of = HWY_DYNAMIC_DISPATCH(SeenOnTarget)(mask, r, keys);
      row = {std::max(row.begin, of.begin), std::min(row.end, of.end)};
    }
    if (row.begin >= row.end || !(Sees(masks, r, row.begin) || Sees(masks, r, row.end - 1)))
      return all;
    seen = {std::min(seen.begin, row.begin), std::max(seen.end, row.end)};
    if (seen.begin == 0 && seen.end == keys) return all;
  }
  return seen;
}

}  // namespace fettle::kernels
#endif
