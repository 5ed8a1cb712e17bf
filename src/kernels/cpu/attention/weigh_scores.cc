// What becomes of scores before and in the softmax, and rows that are scaled.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention/score_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/weigh_scores.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"
#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

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

void FillScoresOnTarget(const uint8_t* c, int64_t stride, bool where, float value, int64_t n,
                        float* s) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto filled = hn::Set(d, value);
  const auto kept = hn::Set(di, where ? 0 : 1);
  int64_t i = 0;
  for (; stride == 1 && i + lanes <= n; i += lanes) {
    const auto keeps = hn::RebindMask(d, hn::Eq(hn::PromoteTo(di, hn::LoadU(bytes, c + i)), kept));
    hn::StoreU(hn::IfThenElse(keeps, hn::LoadU(d, s + i), filled), d, s + i);
  }
  for (; i < n; ++i) {
    if ((c[i * stride] != 0) == where) s[i] = value;
  }
}

/// s = e^(s - shift) of `n` scores, none above the shift; their sum.
float ExpScores(float* s, int64_t n, float of_all) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto shift = hn::Set(d, of_all);
  auto total = hn::Zero(d);
  int64_t i = 0;
  for (constexpr int kTogether = 4; i + kTogether * lanes <= n; i += kTogether * lanes) {
    hn::Vec<decltype(d)> e[kTogether];
    for (int k = 0; k < kTogether; ++k) e[k] = hn::Sub(hn::LoadU(d, s + i + k * lanes), shift);
    ExpDown(d, e);
    for (int k = 0; k < kTogether; ++k) hn::StoreU(e[k], d, s + i + k * lanes);
    for (int k = 0; k < kTogether; ++k) total = hn::Add(total, e[k]);
  }
  for (; i < n; i += lanes) {
    const int64_t left = n - i < lanes ? n - i : lanes;
    const auto some = hn::FirstN(d, left);
    hn::Vec<decltype(d)> e[] = {
        hn::IfThenElseZero(some, hn::Sub(LoadSomeFloats(d, s + i, left), shift))};
    ExpDown(d, e);
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
  // Nothing but -infinity has no differences; one from infinity is NaN, as the whole row then is.
  *sum = *sum * factor + ExpScores(s, n, *max < 0 && std::isinf(*max) ? 0.0F : *max);
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

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(CapScoresOnTarget);
HWY_EXPORT(AddScoresOnTarget);
HWY_EXPORT(FillScoresOnTarget);
HWY_EXPORT(WeighTileOnTarget);
HWY_EXPORT(ScaleRowOnTarget);

void CapScores(float cap, int64_t n, float* s) {
  HWY_DYNAMIC_DISPATCH(CapScoresOnTarget)(cap, n, s);
}

void AddScores(const float* x, int64_t stride, float scale, int64_t n, float* s) {
  HWY_DYNAMIC_DISPATCH(AddScoresOnTarget)(x, stride, scale, n, s);
}

float WeighTile(float* s, int64_t n, TiledRow& row) {
  return HWY_DYNAMIC_DISPATCH(WeighTileOnTarget)(s, n, &row.max, &row.sum);
}

void FillScores(const uint8_t* c, int64_t stride, bool where, float value, int64_t n, float* s) {
  HWY_DYNAMIC_DISPATCH(FillScoresOnTarget)(c, stride, where, value, n, s);
}

void ScaleRow(const float* x, int64_t n, float factor, float* y) {
  HWY_DYNAMIC_DISPATCH(ScaleRowOnTarget)(x, n, factor, y);
}

float RescaleOf(float from, float to) {
  return from == to ? 1.0F : std::exp(from - (std::isinf(to) ? 0.0F : to));
}

void JoinRows(const float* more, const TiledRow* known_more, int64_t rows, int64_t size, float* y,
              TiledRow* known) {
  for (int64_t r = 0; r < rows; ++r) {
    const TiledRow from = known_more[r], to = known[r];
    const float max = std::max(to.max, from.max);
    const float kept = RescaleOf(to.max, max), added = RescaleOf(from.max, max);
    for (int64_t d = r * size; d < (r + 1) * size; ++d) y[d] = kept * y[d] + added * more[d];
    known[r] = {max, kept * to.sum + added * from.sum};
  }
}

}  // namespace fettle::kernels
#endif
