#include "kernels/cpu/attention/score_rows.h"

#include <algorithm>
#include <cmath>

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

/// kRows queries with all keys, two keys at a time: the sums of one wait for each other.
template <int kRows>
void ScoresOfRows(const float* q, int64_t size, const float* k, int64_t keys, int64_t stride,
                  float* s) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < keys; i += 2) {
    const float *first = k + i * size, *second = i + 1 < keys ? first + size : first;
    hn::Vec<hn::ScalableTag<float>> a[kRows], b[kRows];
    for (int r = 0; r < kRows; ++r) a[r] = b[r] = hn::Zero(d);
    for (int64_t at = 0; at < size; at += lanes) {
      const int64_t left = size - at;
      const bool whole = left >= lanes;
      const auto x = whole ? hn::LoadU(d, first + at) : LoadSomeFloats(d, first + at, left);
      const auto y = whole ? hn::LoadU(d, second + at) : LoadSomeFloats(d, second + at, left);
      for (int r = 0; r < kRows; ++r) {
        const float* row = q + r * size + at;
        const auto v = whole ? hn::LoadU(d, row) : LoadSomeFloats(d, row, left);
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

void ScoreRowsOnTarget(const float* q, int64_t rows, int64_t size, const float* k, int64_t keys,
                       int64_t stride, float* s) {
  constexpr void (*kOf[])(const float*, int64_t, const float*, int64_t, int64_t, float*) = {
      ScoresOfRows<1>, ScoresOfRows<2>, ScoresOfRows<3>, ScoresOfRows<4>};
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t count = rows - r < 4 ? rows - r : 4;
    kOf[count - 1](q + r * size, size, k, keys, stride, s + r * stride);
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
  const auto shift = hn::Set(d, std::isinf(*max) ? 0.0f : *max);
  auto total = hn::Zero(d);
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t left = n - i;
    if (left < lanes) {
      const auto e = Exp(d, hn::Sub(LoadSomeFloats(d, s + i, left), shift));
      StoreSomeFloats(d, e, s + i, left);
      total = hn::Add(total, hn::IfThenElseZero(hn::FirstN(d, left), e));
    } else {
      const auto e = Exp(d, hn::Sub(hn::LoadU(d, s + i), shift));
      hn::StoreU(e, d, s + i);
      total = hn::Add(total, e);
    }
  }
  const float factor = RescaleOf(before, *max);
  *sum = *sum * factor + hn::GetLane(hn::SumOfLanes(d, total));
  return factor;
}

/// kRows rows of kVectors vectors of columns, or, of one vector, of its first `n` columns.
template <int kRows, int kVectors>
void AddColumns(const float* w, int64_t stride, const float* v, int64_t v_size, int64_t keys,
                const float* factors, float* y, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<hn::ScalableTag<float>> sum[kRows][kVectors];
  const bool whole = kVectors > 1 || n == lanes;
  const auto load = [&](const float* from) {
    return whole ? hn::LoadU(d, from) : LoadSomeFloats(d, from, n);
  };
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j)
      sum[r][j] = hn::Mul(load(y + r * v_size + j * lanes), hn::Set(d, factors[r]));
  }
#pragma GCC unroll 1
  for (int64_t i = 0; i < keys; ++i) {
    hn::Vec<hn::ScalableTag<float>> weight[kRows];
    for (int r = 0; r < kRows; ++r) weight[r] = hn::Set(d, w[r * stride + i]);
    for (int j = 0; j < kVectors; ++j) {
      const auto x = load(v + i * v_size + j * lanes);
      for (int r = 0; r < kRows; ++r) sum[r][j] = hn::MulAdd(weight[r], x, sum[r][j]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j) {
      float* to = y + r * v_size + j * lanes;
      if (whole)
        hn::StoreU(sum[r][j], d, to);
      else
        StoreSomeFloats(d, sum[r][j], to, n);
    }
  }
}

/// Sums of kRows rows wait in registers: four vectors of each, or two where there are 16 registers.
template <int kRows>
void AddRows(const float* w, int64_t stride, const float* v, int64_t v_size, int64_t keys,
             const float* factors, float* y) {
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  constexpr int kMost = kLanes == 1 ? 1 : HWY_TARGET == HWY_AVX2 && kRows > 3 ? 2 : 4;
  int64_t at = 0;
  for (; kMost > 1 && at + kMost * kLanes <= v_size; at += kMost * kLanes)
    AddColumns<kRows, kMost>(w, stride, v + at, v_size, keys, factors, y + at, kLanes);
  for (; at < v_size; at += kLanes) {
    AddColumns<kRows, 1>(w, stride, v + at, v_size, keys, factors, y + at,
                         v_size - at < kLanes ? v_size - at : kLanes);
  }
}

void AddValuesOnTarget(const float* w, int64_t rows, int64_t stride, const float* v, int64_t v_size,
                       int64_t keys, const float* factors, float* y) {
  constexpr decltype(&AddRows<1>) kOf[] = {AddRows<1>, AddRows<2>, AddRows<3>, AddRows<4>};
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t count = rows - r < 4 ? rows - r : 4;
    kOf[count - 1](w + r * stride, stride, v, v_size, keys, factors + r, y + r * v_size);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ScoreRowsOnTarget);
HWY_EXPORT(CapScoresOnTarget);
HWY_EXPORT(AddScoresOnTarget);
HWY_EXPORT(WeighTileOnTarget);
HWY_EXPORT(AddValuesOnTarget);

void ScoreRows(const float* q, int64_t rows, int64_t size, const float* k, int64_t keys,
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

float RescaleOf(float from, float to) {
  return from == to ? 1.0F : std::exp(from - (std::isinf(to) ? 0.0F : to));
}

void AddValues(const float* w, int64_t rows, int64_t stride, const float* v, int64_t v_size,
               int64_t keys, const float* factors, float* y) {
  HWY_DYNAMIC_DISPATCH(AddValuesOnTarget)(w, rows, stride, v, v_size, keys, factors, y);
}

}  // namespace fettle::kernels
#endif
