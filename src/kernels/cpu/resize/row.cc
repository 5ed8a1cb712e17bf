#include "kernels/cpu/resize/row.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/resize/row.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"
#include "ops/resize/op.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

template <int kRows, typename T>
HWY_INLINE void Blend(const BlendedRows& rows, bool add, int64_t n, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto w = hn::Set(d, rows.weight[0]), v = hn::Set(d, rows.weight[kRows - 1]);
  const T* from = reinterpret_cast<const T*>(rows.from[0]);
  const T* other = reinterpret_cast<const T*>(rows.from[kRows - 1]);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto sum = hn::Mul(LoadFloats(d, from + i), w);
    if (kRows == 2) sum = hn::MulAdd(LoadFloats(d, other + i), v, sum);
    hn::StoreU(add ? hn::Add(sum, hn::LoadU(d, to + i)) : sum, d, to + i);
  }
  if (i == n) return;
  auto sum = hn::Mul(LoadSomeFloats(d, from + i, n - i), w);
  if (kRows == 2) sum = hn::MulAdd(LoadSomeFloats(d, other + i, n - i), v, sum);
  if (add) sum = hn::Add(sum, LoadSomeFloats(d, to + i, n - i));
  StoreSomeFloats(d, sum, to + i, n - i);
}

/// Row by row, in fewer instructions.
template <typename T>
void BlendEach(const BlendedRows& rows, bool add, int64_t n, float* to) {
#pragma GCC unroll 1
  for (int r = 0; r < rows.count; ++r)
    Blend<1, T>({{rows.from[r]}, {rows.weight[r]}, 1}, add || r > 0, n, to);
}

void BlendRowsOnTarget(DType storage, const BlendedRows& rows, bool add, int64_t n, float* to) {
  if (storage == DType::kU8) return BlendEach<uint8_t>(rows, add, n, to);
  if (storage == DType::kI8) return BlendEach<int8_t>(rows, add, n, to);
  if (HWY_TARGET == HWY_SCALAR) return BlendEach<float>(rows, add, n, to);
  rows.count == 2 ? Blend<2, float>(rows, add, n, to) : Blend<1, float>(rows, add, n, to);
}

/// The lanes of this target, for tables made ahead.
int64_t LanesOnTarget() { return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>())); }

/// The inputs of a vector of outputs at one tap: a shuffle of one vector or, with kTwo, of two.
template <bool kTwo, class D>
HWY_INLINE hn::Vec<D> Shuffled(D d, const SpreadTable& table, const float* from, int64_t at) {
  const hn::RebindToSigned<D> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int32_t base = table.base[at / lanes];
  const auto within = hn::IndicesFromVec(d, hn::LoadU(di, table.within.data() + at));
  const auto x = hn::TableLookupLanes(hn::LoadU(d, from + base), within);
  if constexpr (!kTwo) return x;
  const int32_t second = table.second[at / lanes];
  if (second == base) return x;
  const auto behind = hn::Gt(hn::LoadU(di, table.index.data() + at),
                             hn::Set(di, base + static_cast<int32_t>(lanes) - 1));
  const auto y = hn::TableLookupLanes(hn::LoadU(d, from + second), within);
  return hn::IfThenElse(hn::RebindMask(d, behind), y, x);
}

/// Narrow pixels: shuffles, or gathers where the inputs lie further apart. kPicks: nothing is
/// blended.
template <bool kTwo, bool kPicks>
void SpreadElements(const SpreadTable& table, const float* from, float* to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t n = table.count * table.inner;
  const bool shuffles = table.lanes == lanes;
  for (int64_t i = 0; i < n; i += lanes) {
    auto sum = hn::Zero(d);
    for (int t = 0; t < table.taps; ++t) {
      const int64_t at = t * table.stride + i;
      const auto x = shuffles && table.base[at / lanes] >= 0
                         ? Shuffled<kTwo>(d, table, from, at)
                         : hn::GatherIndex(d, from, hn::LoadU(di, table.index.data() + at));
      sum = kPicks ? x : hn::MulAdd(x, hn::LoadU(d, table.weight.data() + at), sum);
    }
    if (i + lanes <= n) {
      hn::StoreU(sum, d, to + i);
    } else {
      StoreSomeFloats(d, sum, to + i, n - i);
    }
  }
}

/// Wide pixels: vectors along the pixel.
void SpreadPixels(const SpreadTable& table, const float* from, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t inner = table.inner;
  for (int64_t i = 0; i < table.count; ++i, to += inner) {
    const int32_t* index = table.index.data() + i * table.taps;
    const float* weight = table.weight.data() + i * table.taps;
    for (int64_t c = 0; c < inner; c += lanes) {
      const int64_t count = std::min(lanes, inner - c);
      auto sum = hn::Zero(d);
      for (int t = 0; t < table.taps; ++t) {
        const float* pixel = from + index[t] * inner + c;
        const auto x = count == lanes ? hn::LoadU(d, pixel) : LoadSomeFloats(d, pixel, count);
        sum = hn::MulAdd(x, hn::Set(d, weight[t]), sum);
      }
      if (count == lanes) {
        hn::StoreU(sum, d, to + c);
      } else {
        StoreSomeFloats(d, sum, to + c, count);
      }
    }
  }
}

void SpreadRowOnTarget(const SpreadTable& table, const float* from, float* to) {
  if (!table.expanded) return SpreadPixels(table, from, to);
  if (table.picks) {
    table.needs_two ? SpreadElements<true, true>(table, from, to)
                    : SpreadElements<false, true>(table, from, to);
  } else {
    table.needs_two ? SpreadElements<true, false>(table, from, to)
                    : SpreadElements<false, false>(table, from, to);
  }
}

template <class D, typename T>
void DoubledBy(D d, const T* x, int64_t n, int64_t rows, T* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto twice = [&](int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    for (int64_t r = 0; r < rows; ++r) hn::StoreInterleaved2(v, v, d, y + 2 * (r * n + i));
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) twice(i);
  if (i < n && n >= lanes) return twice(n - lanes);
  for (; i < n; ++i) {
    for (int64_t r = 0; r < rows; ++r) std::fill_n(y + 2 * (r * n + i), 2, x[i]);
  }
}

template <typename T>
void Doubled(const std::byte* from, int64_t n, int64_t rows, int64_t count, std::byte* to) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 8> few;
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  const bool is_long = n >= static_cast<int64_t>(hn::Lanes(d));
  for (; count > 0; --count, x += n, y += 2 * rows * n)
    is_long ? DoubledBy(d, x, n, rows, y) : DoubledBy(few, x, n, rows, y);
}

void DoubleRowsOnTarget(int64_t bytes, const std::byte* from, int64_t n, int64_t rows,
                        int64_t count, std::byte* to) {
  bytes == 2 ? Doubled<uint16_t>(from, n, rows, count, to)
             : Doubled<uint32_t>(from, n, rows, count, to);
}

/// As ops::kNoFraction says.
template <class V>
V Truncated(V x) {
  const hn::DFromV<V> d;
  return hn::Trunc(hn::Add(x, hn::CopySign(hn::Set(d, static_cast<float>(ops::kNoFraction)), x)));
}

template <typename T>
void Rounded(const float* from, const ByteRounding& how, int64_t n, std::byte* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m = hn::Set(d, how.mul), a = hn::Set(d, how.add);
  T* p = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t count = std::min(lanes, n - i);
    const auto x = count == lanes ? hn::LoadU(d, from + i) : LoadSomeFloats(d, from + i, count);
    auto y = hn::MulAdd(x, m, a);
    y = how.truncates ? Truncated(y) : hn::Round(y);
    y = hn::Min(hn::Max(y, hn::Set(d, how.least)), hn::Set(d, how.greatest));
    if (count == lanes) {
      StoreFloats(d, y, p + i);
    } else {
      StoreSomeFloats(d, y, p + i, count);
    }
  }
}

void StoreRoundedOnTarget(DType storage, const float* from, const ByteRounding& how, int64_t n,
                          std::byte* to) {
  if (storage == DType::kU8) return Rounded<uint8_t>(from, how, n, to);
  Rounded<int8_t>(from, how, n, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(BlendRowsOnTarget);
HWY_EXPORT(LanesOnTarget);
HWY_EXPORT(SpreadRowOnTarget);
HWY_EXPORT(DoubleRowsOnTarget);
HWY_EXPORT(StoreRoundedOnTarget);

namespace {

/// Pixels of fewer elements are narrow.
constexpr int64_t kWidePixel = 8;
/// More lanes than any vector of float has.
constexpr int64_t kMostLanes = 64;

/// Finds the vectors of outputs whose inputs lie within a vector, or within two.
void FindShuffles(int64_t lanes, SpreadTable& table) {
  table.lanes = lanes;
  table.within.assign(table.index.size(), 0);
  for (size_t at = 0; at < table.index.size(); at += static_cast<size_t>(lanes)) {
    // Behind the row the table is padded with index 0, which is no input of the vector.
    const int64_t column = static_cast<int64_t>(at) % table.stride;
    const size_t used = std::clamp<int64_t>(table.count * table.inner - column, 0, lanes);
    const auto begin = table.index.begin() + static_cast<std::ptrdiff_t>(at);
    const auto [least, most] =
        std::minmax_element(begin, begin + static_cast<std::ptrdiff_t>(std::max<size_t>(used, 1)));
    const int32_t first = *least, width = static_cast<int32_t>(lanes);
    const bool fits = *most - first < 2 * width;
    // The second vector ends with the last input: nothing behind it is read.
    const int32_t second = std::max(first, *most - width + 1);
    table.base.push_back(fits ? first : -1);
    table.second.push_back(second);
    table.needs_two |= fits && second != first;
    for (size_t i = 0; i < used && fits; ++i) {
      const int32_t index = table.index[at + i];
      table.within[at + i] = index - (index < first + width ? first : second);
    }
  }
}

}  // namespace

SpreadTable MakeSpreadTable(int64_t count, int taps, int64_t inner,
                            const std::vector<int64_t>& index, const std::vector<double>& weight) {
  SpreadTable table{.count = count, .inner = inner, .taps = taps, .expanded = inner < kWidePixel};
  if (!table.expanded) {
    table.index.assign(index.begin(), index.end());
    for (double w : weight) table.weight.push_back(static_cast<float>(w));
    return table;
  }
  table.picks = taps == 1 && std::count(weight.begin(), weight.end(), 1.0) == std::ssize(weight);
  table.stride = (count * inner + kMostLanes - 1) / kMostLanes * kMostLanes;
  table.index.assign(taps * table.stride, 0);
  table.weight.assign(table.index.size(), 0.0f);
  for (int64_t i = 0; i < count; ++i) {
    for (int t = 0; t < taps; ++t) {
      const size_t from = i * taps + t;
      for (int64_t e = 0; e < inner; ++e) {
        const size_t to = t * table.stride + i * inner + e;
        table.index[to] = static_cast<int32_t>(index[from] * inner + e);
        table.weight[to] = static_cast<float>(weight[from]);
      }
    }
  }
  if (const int64_t lanes = HWY_DYNAMIC_DISPATCH(LanesOnTarget)(); lanes > 1)
    FindShuffles(lanes, table);
  return table;
}

void BlendRows(DType storage, const BlendedRows& rows, bool add, int64_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(BlendRowsOnTarget)(storage, rows, add, n, to);
}

void SpreadRow(const SpreadTable& table, const float* from, float* to) {
  HWY_DYNAMIC_DISPATCH(SpreadRowOnTarget)(table, from, to);
}

void DoubleRows(int64_t bytes, const std::byte* from, int64_t n, int64_t rows, int64_t count,
                std::byte* to) {
  HWY_DYNAMIC_DISPATCH(DoubleRowsOnTarget)(bytes, from, n, rows, count, to);
}

void StoreRounded(DType storage, const float* from, const ByteRounding& how, int64_t n,
                  std::byte* to) {
  HWY_DYNAMIC_DISPATCH(StoreRoundedOnTarget)(storage, from, how, n, to);
}

}  // namespace fettle::kernels
#endif
