#include "kernels/cpu/attention/score_rows.h"

#include <algorithm>

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

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ScoreRowsOnTarget);
HWY_EXPORT(CapScoresOnTarget);

void ScoreRows(const float* q, int64_t rows, int64_t size, const float* k, int64_t keys,
               int64_t stride, float* s) {
  HWY_DYNAMIC_DISPATCH(ScoreRowsOnTarget)(q, rows, size, k, keys, stride, s);
}

void CapScores(float cap, int64_t n, float* s) {
  HWY_DYNAMIC_DISPATCH(CapScoresOnTarget)(cap, n, s);
}

}  // namespace fettle::kernels
#endif
