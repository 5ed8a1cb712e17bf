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

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// A vector of halves as floats.
template <class D>
HWY_INLINE hn::Vec<D> WidenedHalves(D d, const uint16_t* from) {
  const hn::Rebind<hwy::float16_t, D> dh;
  const hn::Rebind<uint16_t, D> du;
  return hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(du, from)));
}

/// Rows [begin, end) of what is read next: at once before floats, which are many lines anyway, and
/// row by row among halves.
HWY_INLINE void AskForRows(const StoredRows& rows, int64_t begin, int64_t end) {
  for (int64_t at = begin * rows.next_bytes; at < end * rows.next_bytes; at += 64)
    __builtin_prefetch(rows.next + at);
}

/// kRows queries with all keys, two keys at a time: the sums of one wait for each other.
template <int kRows, typename T>
void ScoresOfRows(const float* q, int64_t size, const StoredRows& k, int64_t keys, int64_t stride,
                  float* s) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < keys; i += 2) {
    const T* first = reinterpret_cast<const T*>(k.at) + i * size;
    const T* second = i + 1 < keys ? first + size : first;
    if constexpr (sizeof(T) == 2) AskForRows(k, i, i + 2);
    hn::Vec<hn::ScalableTag<float>> a[kRows], b[kRows];
    for (int r = 0; r < kRows; ++r) a[r] = b[r] = hn::Zero(d);
    for (int64_t at = 0; at < size; at += lanes) {
      const int64_t left = size - at;
      const bool whole = sizeof(T) == 2 || left >= lanes;
      const auto load = [&](const auto* from) {
        if constexpr (sizeof(*from) == 4) {
          return whole ? hn::LoadU(d, from) : LoadSomeFloats(d, from, left);
        } else {
          return WidenedHalves(d, from);
        }
      };
      const auto x = load(first + at), y = load(second + at);
      for (int r = 0; r < kRows; ++r) {
        const auto v = load(q + r * size + at);
        a[r] = hn::MulAdd(v, x, a[r]);
        b[r] = hn::MulAdd(v, y, b[r]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      s[r * stride + i] = hn::GetLane(hn::SumOfLanes(d, a[r]));
      if (i + 1 < keys) s[r * stride + i + 1] = hn::GetLane(hn::SumOfLanes(d, b[r]));
    }
  }
}

/// Rows of queries that are taken at once; three of halves: each loop more is code for each target.
HWY_INLINE int64_t MostRows(const StoredRows& of) { return of.halves ? 3 : 4; }

bool ReadsHalvesOnTarget(int64_t size) {
  const hn::ScalableTag<float> d;
  return hn::MaxLanes(d) > 4 && size % (4 * static_cast<int64_t>(hn::Lanes(d))) == 0;
}

void ScoreRowsOnTarget(const float* q, int64_t rows, int64_t size, const StoredRows& k,
                       int64_t keys, int64_t stride, float* s) {
  // Halves: see ReadsHalves.
  using Halves = std::conditional_t<(HWY_LANES(float) > 4), uint16_t, float>;
  using Scores = decltype(&ScoresOfRows<1, float>);
  constexpr Scores kOf[2][4] = {
      {ScoresOfRows<1, float>, ScoresOfRows<2, float>, ScoresOfRows<3, float>,
       ScoresOfRows<4, float>},
      {ScoresOfRows<1, Halves>, ScoresOfRows<2, Halves>, ScoresOfRows<3, Halves>, nullptr}};
  if (!k.halves) AskForRows(k, 0, keys);
  const int64_t most = MostRows(k);
  for (int64_t r = 0; r < rows; r += most) {
    const int64_t count = rows - r < most ? rows - r : most;
    kOf[k.halves][count - 1](q + r * size, size, k, keys, stride, s + r * stride);
  }
}

void CapScoresOnTarget(float cap, int64_t n, float* s) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, cap), inverse = hn::Set(d, 1 / cap);
  for (int64_t i = 0; i < n; i += lanes) {
    const auto x = LoadSomeFloats(d, s + i, n - i < lanes ? n - i : lanes);
    StoreSomeFloats(d, hn::Mul(factor, Tanh(d, hn::Mul(x, inverse))), s + i,
                    n - i < lanes ? n - i : lanes);
  }
}

void AddScoresOnTarget(const float* x, int64_t stride, float scale, int64_t n, float* s) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, scale);
  int64_t i = 0;
  for (; stride == 1 && i + lanes <= n; i += lanes)
    hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, x + i), hn::LoadU(d, s + i)), d, s + i);
  for (; i < n; ++i) s[i] += scale * x[i * stride];
}

/// s = e^(s - shift) of `n` scores; their sum.
float ExpScores(float* s, int64_t n, float of_all) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto shift = hn::Set(d, of_all);
  auto total = hn::Zero(d);
  int64_t i = 0;
  for (constexpr int kTogether = 4; i + kTogether * lanes <= n; i += kTogether * lanes) {
    hn::Vec<decltype(d)> e[kTogether];
    for (int k = 0; k < kTogether; ++k) e[k] = hn::Sub(hn::LoadU(d, s + i + k * lanes), shift);
    Exp(d, e);
    for (int k = 0; k < kTogether; ++k) hn::StoreU(e[k], d, s + i + k * lanes);
    for (int k = 0; k < kTogether; ++k) total = hn::Add(total, e[k]);
  }
  for (; i < n; i += lanes) {
    const int64_t left = n - i < lanes ? n - i : lanes;
    const auto some = hn::FirstN(d, left);
    hn::Vec<decltype(d)> e[] = {
        hn::IfThenElseZero(some, hn::Sub(LoadSomeFloats(d, s + i, left), shift))};
    Exp(d, e);
    StoreSomeFloats(d, e[0], s + i, left);
    total = hn::Add(total, hn::IfThenElseZero(some, e[0]));
  }
  return hn::GetLane(hn::SumOfLanes(d, total));
}

float WeighTileOnTarget(float* s, int64_t n, float* max, float* sum) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto most = hn::Set(d, *max);
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t left = n - i;
    const auto x = left < lanes
                       ? hn::IfThenElse(hn::FirstN(d, left), LoadSomeFloats(d, s + i, left), most)
                       : hn::LoadU(d, s + i);
    most = hn::Max(most, x);
  }
  const float before = *max;
  *max = hn::GetLane(hn::MaxOfLanes(d, most));
  const float factor = RescaleOf(before, *max);
  *sum = *sum * factor + ExpScores(s, n, std::isinf(*max) ? 0.0F : *max);
  return factor;
}

void ScaleRowOnTarget(const float* x, int64_t n, float factor, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto all = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(all, hn::LoadU(d, x + i)), d, y + i);
  for (; i < n; ++i) y[i] = factor * x[i];
}

/// kRows rows of kVectors vectors of columns from `at` on, or, of one vector, of the first `n`
/// there.
template <int kRows, int kVectors, typename T>
void AddColumns(const float* w, int64_t stride, const StoredRows& v, int64_t v_size, int64_t keys,
                const float* factors, float* y, int64_t at, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<hn::ScalableTag<float>> sum[kRows][kVectors];
  const bool whole = sizeof(T) == 2 || kVectors > 1 || n == lanes;
  const auto load = [&](const auto* from) {
    if constexpr (sizeof(*from) == 4) {
      return whole ? hn::LoadU(d, from) : LoadSomeFloats(d, from, n);
    } else {
      return WidenedHalves(d, from);
    }
  };
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j)
      sum[r][j] = hn::Mul(load(y + r * v_size + at + j * lanes), hn::Set(d, factors[r]));
  }
  const T* from = reinterpret_cast<const T*>(v.at) + at;
#pragma GCC unroll 1
  for (int64_t i = 0; i < keys; ++i) {
    if constexpr (sizeof(T) == 2) {
      if (at == 0) AskForRows(v, i, i + 1);
    }
    hn::Vec<hn::ScalableTag<float>> weight[kRows];
    for (int r = 0; r < kRows; ++r) weight[r] = hn::Set(d, w[r * stride + i]);
    for (int j = 0; j < kVectors; ++j) {
      const auto x = load(from + i * v_size + j * lanes);
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
  using Halves = std::conditional_t<(HWY_LANES(float) > 4), uint16_t, float>;
  using Add = decltype(&AddRows<1, float>);
  constexpr Add kOf[2][4] = {
      {AddRows<1, float>, AddRows<2, float>, AddRows<3, float>, AddRows<4, float>},
      {AddRows<1, Halves>, AddRows<2, Halves>, AddRows<3, Halves>, nullptr}};
  if (!v.halves) AskForRows(v, 0, keys);
  const int64_t most = MostRows(v);
  for (int64_t r = 0; r < rows; r += most) {
    const int64_t count = rows - r < most ? rows - r : most;
    kOf[v.halves][count - 1](w + r * stride, stride, v, v_size, keys, factors + r, y + r * v_size);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ReadsHalvesOnTarget);
HWY_EXPORT(ScoreRowsOnTarget);
HWY_EXPORT(CapScoresOnTarget);
HWY_EXPORT(AddScoresOnTarget);
HWY_EXPORT(WeighTileOnTarget);
HWY_EXPORT(AddValuesOnTarget);
HWY_EXPORT(ScaleRowOnTarget);

bool ReadsHalves(int64_t size) { return HWY_DYNAMIC_DISPATCH(ReadsHalvesOnTarget)(size); }

void ScoreRows(const float* q, int64_t rows, int64_t size, const StoredRows& k, int64_t keys,
               int64_t stride, float* s) {
  HWY_DYNAMIC_DISPATCH(ScoreRowsOnTarget)(q, rows, size, k, keys, stride, s);
}

void CapScores(float cap, int64_t n, float* s) {
  HWY_DYNAMIC_DISPATCH(CapScoresOnTarget)(cap, n, s);
}

void AddScores(const float* x, int64_t stride, float scale, int64_t n, float* s) {
  HWY_DYNAMIC_DISPATCH(AddScoresOnTarget)(x, stride, scale, n, s);
}

float WeighTile(float* s, int64_t n, TiledRow& row) {
  return HWY_DYNAMIC_DISPATCH(WeighTileOnTarget)(s, n, &row.max, &row.sum);
}

void ScaleRow(const float* x, int64_t n, float factor, float* y) {
  HWY_DYNAMIC_DISPATCH(ScaleRowOnTarget)(x, n, factor, y);
}

float RescaleOf(float from, float to) {
  return from == to ? 1.0F : std::exp(from - (std::isinf(to) ? 0.0F : to));
}

void AddValues(const float* w, int64_t rows, int64_t stride, const StoredRows& v, int64_t v_size,
               int64_t keys, const float* factors, float* y) {
  HWY_DYNAMIC_DISPATCH(AddValuesOnTarget)(w, rows, stride, v, v_size, keys, factors, y);
}

}  // namespace fettle::kernels
#endif
