#include "kernels/cpu/quantised_matmul/panel.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised_matmul/panel.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kBytes = 16;

/// Columns of the depths k .. k + rows that can be read in place, from the first on. Bytes behind
/// the last column may be read, because their sums are not used; bytes behind the last element may
/// not.
HWY_INLINE int64_t ColumnsThere(const ByteMatrix& b, int64_t k, int64_t rows) {
  const int64_t below = b.depth - k - rows;
  return b.column_stride == 1 && below >= 0 ? below * b.depth_stride + b.columns : 0;
}

/// The depths k .. k + rows of columns c .. c + count, side by side; behind the last depth `none`.
HWY_INLINE void GatherRows(const ByteMatrix& b, int64_t k, int64_t rows, int64_t c, int64_t count,
                           uint8_t none, uint8_t* to) {
  std::memset(to, none, static_cast<size_t>(rows * kBytes));
  const int64_t depths = std::min(rows, b.depth - k);
  const int64_t columns = std::min(count, b.columns - c);
  const uint8_t* from = b.at + k * b.depth_stride + c * b.column_stride;
  for (int64_t j = 0; j < depths; ++j, from += b.depth_stride) {
    if (c + count <= ColumnsThere(b, k + j, 1)) {
      std::memcpy(to + j * kBytes, from, static_cast<size_t>(count));
      continue;
    }
    for (int64_t n = 0; n < columns; ++n) to[j * kBytes + n] = from[n * b.column_stride];
  }
}

/// `copy`: room for what is not there. g++ 12 aligns such an array of a leaf function by 8, and
/// stores to it as if by 16.
void PackBytesOnTarget(const ByteMatrix& b, uint8_t flip, int nr, uint8_t* copy, uint8_t* panel) {
  const hn::CappedTag<uint8_t, kBytes> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto x = hn::Set(d, flip);
  for (int64_t k = 0; k < b.depth; k += 4, panel += nr * 4) {
    const int64_t there = ColumnsThere(b, k, 4);
    for (int64_t c = 0; c < nr; c += lanes) {
      // Bytes that are flipped to 0 stand for none.
      const uint8_t* from = b.at + k * b.depth_stride + c;
      int64_t stride = b.depth_stride;
      if (c + lanes > there) {
        GatherRows(b, k, 4, c, lanes, flip, copy);
        from = copy;
        stride = kBytes;
      }
      const auto load = [&](int64_t j)
                            HWY_ATTR { return hn::Xor(hn::LoadU(d, from + j * stride), x); };
      hn::StoreInterleaved4(load(0), load(1), load(2), load(3), d, panel + c * 4);
    }
  }
}

/// Half as many columns at a time as a vector has words. Bytes that are flipped are i8 plus 128.
void PackWideOnTarget(const ByteMatrix& b, uint8_t flip, int zero, int nr, uint8_t* copy,
                      int16_t* panel) {
  const hn::CappedTag<int16_t, 16> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
#if HWY_TARGET == HWY_SCALAR
  constexpr int64_t kColumns = kLanes;
  const auto some = bytes;
#else
  constexpr int64_t kColumns = kLanes / 2;
  const hn::Half<decltype(bytes)> some;
#endif
  const auto z = hn::Set(d, static_cast<int16_t>(zero));
  const auto x = hn::Set(bytes, flip);
  const auto words = [&](hn::Vec<decltype(bytes)> pairs)
                         HWY_ATTR { return hn::Sub(hn::PromoteTo(d, hn::Xor(pairs, x)), z); };
  for (int64_t k = 0; k < b.depth; k += 2) {
    const int64_t there = ColumnsThere(b, k, 2);
    for (int64_t c = 0; c < nr; c += kColumns, panel += 2 * kColumns) {
      const uint8_t* from = b.at + k * b.depth_stride + c;
      int64_t stride = b.depth_stride;
      if (c + kColumns > there) {
        GatherRows(b, k, 2, c, kColumns, static_cast<uint8_t>(zero ^ flip), copy);
        from = copy;
        stride = kBytes;
      }
      const auto row0 = hn::LoadU(some, from), row1 = hn::LoadU(some, from + stride);
#if HWY_TARGET == HWY_SCALAR
      hn::StoreInterleaved2(words(row0), words(row1), d, panel);
#else
      hn::StoreU(words(hn::InterleaveLower(bytes, hn::ZeroExtendVector(bytes, row0),
                                           hn::ZeroExtendVector(bytes, row1))),
                 d, panel);
#endif
    }
  }
}

/// Adds the sum of as many whole vectors of `d` as follow x[i].
template <class DB>
HWY_INLINE uint64_t SumVectors(DB d, const uint8_t* x, int64_t n, uint8_t flip, int64_t& i) {
  const hn::Repartition<uint64_t, DB> wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto flips = hn::Set(d, flip);
  auto sums = hn::Zero(wide);
  for (; i + lanes <= n; i += lanes)
    sums = hn::Add(sums, hn::SumsOf8(hn::Xor(hn::LoadU(d, x + i), flips)));
  return hn::GetLane(hn::SumOfLanes(wide, sums));
}

int32_t SumOnTarget(const uint8_t* x, int64_t n, uint8_t flip) {
  int64_t i = 0;
  uint64_t sum = n < 64 ? 0 : SumVectors(hn::ScalableTag<uint8_t>(), x, n, flip, i);
  sum += SumVectors(hn::CappedTag<uint8_t, kBytes>(), x, n, flip, i);
  for (; i < n; ++i) sum += static_cast<uint8_t>(x[i] ^ flip);
  return static_cast<int32_t>(sum);
}

void TakeOffOnTarget(const ProductSums& sums, const ZeroTerms& terms) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* column_sums = reinterpret_cast<const uint32_t*>(terms.column_sums);
  const auto* zeros = reinterpret_cast<const uint32_t*>(terms.column_zeros);
  const bool is_one_zero =
      std::all_of(zeros, zeros + sums.columns, [&](uint32_t zero) { return zero == zeros[0]; });
  const auto store = [&](hn::Vec<decltype(d)> x, int64_t i, uint32_t* to) HWY_ATTR {
    if (i + lanes <= sums.columns) {
      hn::StoreU(x, d, to + i);
    } else {
      StoreFirst(d, x, sums.columns - i, to + i);
    }
  };
  for (int64_t r = 0; r < sums.rows; ++r) {
    const auto* from = reinterpret_cast<const uint32_t*>(sums.from + r * sums.from_stride);
    auto* to = reinterpret_cast<uint32_t*>(sums.to + r * sums.to_stride);
    const uint32_t zero = terms.row_zeros[r], less = terms.row_sums[r];
    if (is_one_zero && zero == 0) {
      const auto all = hn::Set(d, less * zeros[0]);
      for (int64_t i = 0; i < sums.columns; i += lanes)
        store(hn::Sub(hn::LoadU(d, from + i), all), i, to);
      continue;
    }
    for (int64_t i = 0; i < sums.columns; i += lanes) {
      const auto added = hn::Add(hn::Mul(hn::Set(d, zero), hn::LoadU(d, column_sums + i)),
                                 hn::Mul(hn::Set(d, less), hn::LoadU(d, zeros + i)));
      store(hn::Sub(hn::LoadU(d, from + i), added), i, to);
    }
  }
}

void ScaleOnTarget(int32_t* sums, int64_t n, uint32_t factor) {
  const hn::CappedTag<uint32_t, 16> d;
  const auto by = hn::Set(d, factor);
  auto* const values = reinterpret_cast<uint32_t*>(sums);
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(hn::Mul(hn::LoadU(d, values + i), by), d, values + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

namespace {
constexpr int kMostLanes = 16;
}

HWY_EXPORT(PackBytesOnTarget);
HWY_EXPORT(PackWideOnTarget);
HWY_EXPORT(SumOnTarget);
HWY_EXPORT(TakeOffOnTarget);
HWY_EXPORT(ScaleOnTarget);

void PackByteSteps(const ByteMatrix& b, uint8_t flip, int nr, uint8_t* panel) {
  uint8_t copy[4 * kMostLanes];
  HWY_DYNAMIC_DISPATCH(PackBytesOnTarget)(b, flip, nr, copy, panel);
}

void PackWideSteps(const ByteMatrix& b, bool is_signed, int zero, int nr, int16_t* panel) {
  uint8_t copy[2 * kMostLanes];
  const int excess = is_signed ? 128 : 0;
  HWY_DYNAMIC_DISPATCH(PackWideOnTarget)
  (b, static_cast<uint8_t>(excess), zero + excess, nr, copy, panel);
}

int32_t SumOfBytes(const uint8_t* x, int64_t n, uint8_t flip) {
  return HWY_DYNAMIC_DISPATCH(SumOnTarget)(x, n, flip);
}

void ScaleSums(int32_t* sums, int64_t n, uint32_t factor) {
  HWY_DYNAMIC_DISPATCH(ScaleOnTarget)(sums, n, factor);
}

void TakeOffZeros(const ProductSums& sums, const ZeroTerms& terms) {
  HWY_DYNAMIC_DISPATCH(TakeOffOnTarget)(sums, terms);
}

}  // namespace fettle::kernels
#endif
