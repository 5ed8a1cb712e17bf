#include "kernels/cpu/attention/score_rows.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/score_rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"
#include "kernels/cpu/simd/math-inl.h"
#include "ops/attention/byte_rows.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// A vector of halves as floats.
template <class D>
HWY_INLINE hn::Vec<D> Widened(D d, const uint16_t* from) {
  const hn::Rebind<hwy::float16_t, D> dh;
  const hn::Rebind<uint16_t, D> du;
  return hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(du, from)));
}

/// Of codes.
template <class D>
HWY_INLINE hn::Vec<D> Widened(D d, const int8_t* from) {
  const hn::Rebind<int32_t, D> di;
  const hn::Rebind<int8_t, D> db;
  return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(db, from)));
}

/// Elements from one row of `size` to the next.
template <typename T>
HWY_INLINE int64_t PitchOf(int64_t size) {
  return sizeof(T) == 1 ? ops::StoredSize(DType::kI8, size) : size;
}

/// By what all of a row counts.
template <typename T>
HWY_INLINE float FactorOf(const T* row, int64_t size) {
  return sizeof(T) == 1 ? ops::StepOf(reinterpret_cast<const std::byte*>(row), size) : 1.0F;
}

/// Rows [begin, end) of what is read next: at once before floats, which are many lines anyway, and
/// row by row among halves.
HWY_INLINE void AskForRows(const StoredRows& rows, int64_t begin, int64_t end) {
  for (int64_t at = begin * rows.next_bytes; at < end * rows.next_bytes; at += 64)
    __builtin_prefetch(rows.next + at);
}

#if HWY_TARGET <= HWY_AVX3
/// Sums of the lanes of four vectors of 16, whose steps they share.
template <class D>
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> SumsOfFour(D d, const hn::Vec<D>* v) {
  const hn::RepartitionToWide<D> dw;
  const hn::FixedTag<float, 4> d4;
  const auto pair = [&](hn::Vec<D> a, hn::Vec<D> b) {
    return hn::BitCast(dw, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto a = pair(v[0], v[1]), b = pair(v[2], v[3]);
  const auto all = hn::Add(hn::BitCast(d, hn::InterleaveLower(dw, a, b)),
                           hn::BitCast(d, hn::InterleaveUpper(dw, a, b)));
  const hn::Half<D> dh;
  const auto half = hn::Add(hn::LowerHalf(dh, all), hn::UpperHalf(dh, all));
  return hn::Add(hn::LowerHalf(d4, half), hn::UpperHalf(d4, half));
}

/// kRows queries with all keys, of halves or bytes, in fours; a last one repeats the last key.
template <int kRows, typename T>
void ScoresOfFours(const float* q, int64_t size, const StoredRows& k, int64_t keys, int64_t stride,
                   float* s) {
  const hn::ScalableTag<float> d;
  const hn::FixedTag<float, 4> d4;
  constexpr int kKeys = 4;
  for (int64_t i = 0; i < keys; i += kKeys) {
    const int64_t left = keys - i < kKeys ? keys - i : kKeys;
    AskForRows(k, i, i + left);
    const T* row[kKeys];
    float steps[kKeys];
    for (int j = 0; j < kKeys; ++j) {
      row[j] = reinterpret_cast<const T*>(k.at) + (j < left ? i + j : keys - 1) * PitchOf<T>(size);
      steps[j] = FactorOf(row[j], size);
    }
    hn::Vec<decltype(d)> sums[kRows][kKeys];
    for (auto& row_sums : sums) std::fill_n(row_sums, kKeys, hn::Zero(d));
#pragma GCC unroll 1
    for (int64_t at = 0; at < size; at += 16) {
      hn::Vec<decltype(d)> x[kKeys];
      for (int j = 0; j < kKeys; ++j) x[j] = Widened(d, row[j] + at);
      for (int r = 0; r < kRows; ++r) {
        const auto v = hn::LoadU(d, q + r * size + at);
        for (int j = 0; j < kKeys; ++j) sums[r][j] = hn::MulAdd(v, x[j], sums[r][j]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      float y[kKeys];
      hn::StoreU(hn::Mul(SumsOfFour(d, sums[r]), hn::LoadU(d4, steps)), d4, y);
      std::copy_n(y, left, s + r * stride + i);
    }
  }
}
#endif

/// kRows queries with all keys, two keys at a time: the sums of one wait for each other.
template <int kRows, typename T>
void ScoresOfRows(const float* q, int64_t size, const StoredRows& k, int64_t keys, int64_t stride,
                  float* s) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < keys; i += 2) {
    const T* first = reinterpret_cast<const T*>(k.at) + i * PitchOf<T>(size);
    const T* second = i + 1 < keys ? first + PitchOf<T>(size) : first;
    if constexpr (sizeof(T) < 4) AskForRows(k, i, i + 2);
    hn::Vec<hn::ScalableTag<float>> a[kRows], b[kRows];
    for (int r = 0; r < kRows; ++r) a[r] = b[r] = hn::Zero(d);
    for (int64_t at = 0, left = size; at < size; at += lanes, left -= lanes) {
      const bool whole = sizeof(T) < 4 || left >= lanes;
      const auto load = [&](const auto* from) {
        if constexpr (sizeof(*from) == 4) {
          return whole ? hn::LoadU(d, from) : LoadSomeFloats(d, from, left);
        } else {
          return Widened(d, from);
        }
      };
      const auto x = load(first + at), y = load(second + at);
      for (int r = 0; r < kRows; ++r) {
        const auto v = load(q + r * size + at);
        a[r] = hn::MulAdd(v, x, a[r]);
        b[r] = hn::MulAdd(v, y, b[r]);
      }
    }
    const float x = FactorOf(first, size), y = FactorOf(second, size);
    for (int r = 0; r < kRows; ++r) {
      s[r * stride + i] = x * hn::GetLane(hn::SumOfLanes(d, a[r]));
      if (i + 1 < keys) s[r * stride + i + 1] = y * hn::GetLane(hn::SumOfLanes(d, b[r]));
    }
  }
}

/// How many of `left` rows of queries are taken at once; three or one of halves and bytes: each
/// loop more is code for each target.
HWY_INLINE int64_t RowsAtOnce(const StoredRows& of, int64_t left) {
  if (of.kind != StoredRows::kFloats) return left < 3 ? 1 : 3;
  return left < 4 ? left : 4;
}

/// Halves and bytes are read on some targets (ReadsFewBytes); others need no code for them.
using Halves = std::conditional_t<(HWY_LANES(float) > 4), uint16_t, float>;
using Bytes = std::conditional_t<(HWY_LANES(float) > 8), int8_t, float>;

bool ReadsFewBytesOnTarget(StoredRows::Kind kind, int64_t size) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  return lanes > (kind == StoredRows::kBytes ? 8 : 4) && size % (4 * lanes) == 0;
}

void ScoreRowsOnTarget(const float* q, int64_t rows, int64_t size, const StoredRows& k,
                       int64_t keys, int64_t stride, float* s) {
#if HWY_TARGET <= HWY_AVX3
#define SCORES(rows, type) ScoresOfFours<rows, type>
#else
#define SCORES(rows, type) ScoresOfRows<rows, type>
#endif
  using Scores = decltype(&ScoresOfRows<1, float>);
  constexpr Scores kOf[3][4] = {{ScoresOfRows<1, float>, ScoresOfRows<2, float>,
                                 ScoresOfRows<3, float>, ScoresOfRows<4, float>},
                                {SCORES(1, Halves), nullptr, SCORES(3, Halves), nullptr},
                                {SCORES(1, Bytes), nullptr, SCORES(3, Bytes), nullptr}};
#undef SCORES
  if (k.kind == StoredRows::kFloats) AskForRows(k, 0, keys);
  for (int64_t r = 0, count = 0; r < rows; r += count) {
    count = RowsAtOnce(k, rows - r);
    kOf[k.kind][count - 1](q + r * size, size, k, keys, stride, s + r * stride);
  }
}

/// kRows rows of kVectors vectors of columns from `at` on, or, of one vector, of the first `n`
/// there.
template <int kRows, int kVectors, typename T>
void AddColumns(const float* w, int64_t stride, const StoredRows& v, int64_t v_size, int64_t keys,
                const float* factors, float* y, int64_t at, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<hn::ScalableTag<float>> sum[kRows][kVectors];
  const bool whole = sizeof(T) < 4 || kVectors > 1 || n == lanes;
  const auto load = [&](const auto* from) {
    if constexpr (sizeof(*from) == 4) {
      return whole ? hn::LoadU(d, from) : LoadSomeFloats(d, from, n);
    } else {
      return Widened(d, from);
    }
  };
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j)
      sum[r][j] = hn::Mul(load(y + r * v_size + at + j * lanes), hn::Set(d, factors[r]));
  }
  const T* from = reinterpret_cast<const T*>(v.at);
#pragma GCC unroll 1
  for (int64_t i = 0; i < keys; ++i, from += PitchOf<T>(v_size)) {
    if constexpr (sizeof(T) < 4) {
      if (at == 0) AskForRows(v, i, i + 1);
    }
    hn::Vec<hn::ScalableTag<float>> weight[kRows];
    for (int r = 0; r < kRows; ++r)
      weight[r] = hn::Set(d, FactorOf(from, v_size) * w[r * stride + i]);
    for (int j = 0; j < kVectors; ++j) {
      const auto x = load(from + at + j * lanes);
      for (int r = 0; r < kRows; ++r) sum[r][j] = hn::MulAdd(weight[r], x, sum[r][j]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j) {
      float* to = y + r * v_size + at + j * lanes;
      if (whole)
        hn::StoreU(sum[r][j], d, to);
      else
        StoreSomeFloats(d, sum[r][j], to, n);
    }
  }
}

/// Sums of kRows rows wait in registers: four vectors of each, or two where there are 16 registers.
template <int kRows, typename T>
void AddRows(const float* w, int64_t stride, const StoredRows& v, int64_t v_size, int64_t keys,
             const float* factors, float* y) {
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  constexpr int kMost = kLanes == 1 ? 1 : HWY_TARGET == HWY_AVX2 && kRows > 3 ? 2 : 4;
  int64_t at = 0;
  for (; kMost > 1 && at + kMost * kLanes <= v_size; at += kMost * kLanes)
    AddColumns<kRows, kMost, T>(w, stride, v, v_size, keys, factors, y, at, kLanes);
  for (; sizeof(T) == 4 && at < v_size; at += kLanes) {
    AddColumns<kRows, 1, float>(w, stride, v, v_size, keys, factors, y, at,
                                v_size - at < kLanes ? v_size - at : kLanes);
  }
}

void AddValuesOnTarget(const float* w, int64_t rows, int64_t stride, const StoredRows& v,
                       int64_t v_size, int64_t keys, const float* factors, float* y) {
  using Add = decltype(&AddRows<1, float>);
  constexpr Add kOf[3][4] = {
      {AddRows<1, float>, AddRows<2, float>, AddRows<3, float>, AddRows<4, float>},
      {AddRows<1, Halves>, nullptr, AddRows<3, Halves>, nullptr},
      {AddRows<1, Bytes>, nullptr, AddRows<3, Bytes>, nullptr}};
  if (v.kind == StoredRows::kFloats) AskForRows(v, 0, keys);
  for (int64_t r = 0, count = 0; r < rows; r += count) {
    count = RowsAtOnce(v, rows - r);
    kOf[v.kind][count - 1](w + r * stride, stride, v, v_size, keys, factors + r, y + r * v_size);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ReadsFewBytesOnTarget);
HWY_EXPORT(ScoreRowsOnTarget);
HWY_EXPORT(AddValuesOnTarget);

bool ReadsFewBytes(StoredRows::Kind kind, int64_t size) {
  return HWY_DYNAMIC_DISPATCH(ReadsFewBytesOnTarget)(kind, size);
}

void ScoreRows(const float* q, int64_t rows, int64_t size, const StoredRows& k, int64_t keys,
               int64_t stride, float* s) {
  HWY_DYNAMIC_DISPATCH(ScoreRowsOnTarget)(q, rows, size, k, keys, stride, s);
}

void AddValues(const float* w, int64_t rows, int64_t stride, const StoredRows& v, int64_t v_size,
               int64_t keys, const float* factors, float* y) {
  HWY_DYNAMIC_DISPATCH(AddValuesOnTarget)(w, rows, stride, v, v_size, keys, factors, y);
}

}  // namespace fettle::kernels
#endif
