// compiled: by hand
#include <algorithm>
#include <limits>

#include "kernels/cpu/reduce/fold.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/extremes.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Extremes of T. Bits turned over reverse the order: the least is the greatest of those.
template <typename T>
struct Extremes {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<hn::ScalableTag<T>>;
  T turn;
  static constexpr int64_t kLines = 4;  // that are joined with what is held at once

  T Larger(T held, T x) const {
    const T value = static_cast<T>(x ^ turn);
    return held > value ? held : value;
  }
  HWY_INLINE V Larger(V held, const T* x) const {
    return hn::Max(held, hn::Xor(hn::LoadU(d, x), hn::Set(d, turn)));
  }

  /// The greatest lane, by vectors of 16 bytes and then one by one.
  HWY_INLINE T OfLanes(V v) const {
    HWY_ALIGN T parts[hn::MaxLanes(hn::ScalableTag<T>())];
    hn::Store(v, d, parts);
    const hn::CappedTag<T, 16 / sizeof(T)> part;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d)),
               few = static_cast<int64_t>(hn::Lanes(part));
    auto best = hn::Load(part, parts);
    for (int64_t k = few; k < lanes; k += few) best = hn::Max(best, hn::Load(part, parts + k));
    hn::Store(best, part, parts);
    return *std::max_element(parts, parts + few);
  }

  /// One row of neighbours.
  T Row(const T* x, int64_t n) const {
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    T best = static_cast<T>(x[0] ^ turn);
    if (n < lanes) {
      for (int64_t i = 1; i < n; ++i) best = Larger(best, x[i]);
      return best;
    }
    V a = hn::Set(d, best), b = a, c = a, e = a;
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      a = Larger(a, x + i);
      b = Larger(b, x + i + lanes);
      c = Larger(c, x + i + 2 * lanes);
      e = Larger(e, x + i + 3 * lanes);
    }
    for (; i + lanes <= n; i += lanes) a = Larger(a, x + i);
    b = Larger(b, x + n - lanes);  // which some have met before
    return OfLanes(hn::Max(hn::Max(a, b), hn::Max(c, e)));
  }

  /// A vector of columns, or `count` vectors of them, from column `at` on.
  template <int count>
  HWY_INLINE void Columns(const FoldBlock& block, const T* x, T* to) const {
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const V none = hn::Set(d, std::numeric_limits<T>::lowest());
    V a = none, b = none;
    for (int64_t r = 0; r < block.row; ++r, x += block.inner_stride) {
      a = Larger(a, x);
      if constexpr (count == 2) b = Larger(b, x + lanes);
    }
    hn::StoreU(hn::Xor(a, hn::Set(d, turn)), d, to);
    if constexpr (count == 2) hn::StoreU(hn::Xor(b, hn::Set(d, turn)), d, to + lanes);
  }

  /// Many columns: a few rows at a time, which are read from end to end, join what is held in
  /// memory. The last vector may overlap the one before.
  void Lines(const FoldBlock& block, const T* x, T* to) const {
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const int64_t inner = block.inner, stride = block.inner_stride;
    std::fill_n(to, inner, std::numeric_limits<T>::lowest());
    for (int64_t r = 0, rows = 0; r < block.row; r += rows, x += rows * stride) {
      rows = block.row - r < kLines ? 1 : kLines;
      for (int64_t i = 0; i < inner; i += lanes) {
        const int64_t at = std::min(i, inner - lanes);
        V held = hn::LoadU(d, to + at);
        if (rows == kLines) {
          const V a = Larger(Larger(held, x + at), x + stride + at);
          held = Larger(Larger(a, x + 2 * stride + at), x + 3 * stride + at);
        } else {
          held = Larger(held, x + at);
        }
        hn::StoreU(held, d, to + at);
      }
    }
    for (int64_t i = 0; i < inner; ++i) to[i] = static_cast<T>(to[i] ^ turn);
  }

  void Run(const FoldBlock& block, T* to) const {
    const T* x = reinterpret_cast<const T*>(block.from);
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const int64_t inner = block.inner;
    if (block.inner_stride == 1) {
      for (int64_t r = 0; r < block.rows; ++r, x += block.row)
        to[r] = static_cast<T>(Row(x, block.row) ^ turn);
    } else if (inner >= 8 * lanes && block.row >= 2 * kLines) {
      Lines(block, x, to);
    } else if (inner >= lanes) {
      int64_t i = 0;
      for (; i + 2 * lanes <= inner; i += 2 * lanes) Columns<2>(block, x + i, to + i);
      // The last vector may overlap the one before.
      for (; i < inner; i += lanes) {
        const int64_t at = std::min(i, inner - lanes);
        Columns<1>(block, x + at, to + at);
      }
    } else {
      for (int64_t i = 0; i < inner; ++i) {
        T best = std::numeric_limits<T>::lowest();
        for (int64_t r = 0; r < block.row; ++r) best = Larger(best, x[r * block.inner_stride + i]);
        to[i] = static_cast<T>(best ^ turn);
      }
    }
  }
};

template <typename T>
void Find(const FoldBlock& block, std::byte* out) {
  const T turn = static_cast<T>(block.kind == FoldKind::kMax ? 0 : ~T{0});
  Extremes<T>{{}, turn}.Run(block, reinterpret_cast<T*>(out));
}

void ExtremesOnTarget(const FoldBlock& block, std::byte* to) {
  switch (block.storage) {
    case DType::kI8: return Find<int8_t>(block, to);
    case DType::kU8: return Find<uint8_t>(block, to);
    case DType::kI32: return Find<int32_t>(block, to);
    default: return Find<int64_t>(block, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ExtremesOnTarget);

void FoldExtremes(const FoldBlock& block, std::byte* to) {
  HWY_DYNAMIC_DISPATCH(ExtremesOnTarget)(block, to);
}

}  // namespace fettle::kernels
#endif
