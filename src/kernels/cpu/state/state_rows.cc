#include "kernels/cpu/state/state_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/state/state_rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"
#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// kVectors vectors of a row; one may have fewer than all lanes.
template <int kVectors>
struct StateColumns {
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  D d;
  static constexpr auto lanes = static_cast<int64_t>(HWY_LANES(float));
  int64_t at = 0, count = 0;

  bool whole() const { return kVectors > 1 || count == lanes; }
  HWY_INLINE V Load(const float* row, int j) const {
    return whole() ? hn::LoadU(d, row + at + j * lanes) : LoadSomeFloats(d, row + at, count);
  }
  HWY_INLINE void Store(V v, float* row, int j) const {
    if (whole())
      hn::StoreU(v, d, row + at + j * lanes);
    else
      StoreSomeFloats(d, v, row + at, count);
  }
};

/// What a state holds for the key of row t, after it has decayed.
template <int kVectors, class V>
HWY_INLINE void Held(const ScanColumns& c, const StateColumns<kVectors>& columns, const float* from,
                     int64_t t, V* sums) {
  const auto d = columns.d;
  for (int j = 0; j < kVectors; ++j) sums[j] = hn::Zero(d);
  const float *k = c.k + t * c.key_row, *factors = c.factors + t * c.factor_row;
  for (int64_t i = 0; from != nullptr && i < c.size; ++i) {
    const auto key = hn::Set(d, k[i] * factors[i * c.factor_step]);
    for (int j = 0; j < kVectors; ++j)
      sums[j] = hn::MulAdd(key, columns.Load(from + i * c.state_row, j), sums[j]);
  }
}

/// The values of row t; of the delta rule, what the state has to learn of them.
template <int kVectors, class V>
HWY_INLINE void RowValues(const ScanColumns& c, const StateColumns<kVectors>& columns,
                          const float* from, int64_t t, V* v) {
  for (int j = 0; j < kVectors; ++j) v[j] = columns.Load(c.v + t * c.value_row, j);
  if (c.beta == nullptr) return;
  V held[kVectors];
  Held(c, columns, from, t, held);
  const V beta = hn::Set(columns.d, c.beta[t * c.beta_row]);
  for (int j = 0; j < kVectors; ++j) v[j] = hn::Mul(beta, hn::Sub(v[j], held[j]));
}

/// Row i of the state, s, over rows [t, t + kRows): it decays, and learns and answers each.
template <bool kFactors, int kRows, int kVectors, class V>
HWY_INLINE void StepRows(const ScanColumns& c, int64_t t, int64_t i, const V (&v)[kRows][kVectors],
                         V* s, V (&y)[kRows][kVectors]) {
  const hn::ScalableTag<float> d;
  for (int r = 0; r < kRows; ++r) {
    const int64_t at = (t + r) * c.key_row + i;
    const V key = hn::Set(d, c.k[at]), query = hn::Set(d, c.q[at]);
    for (int j = 0; kFactors && j < kVectors; ++j) {
      const float factor = c.factors[(t + r) * c.factor_row + i * c.factor_step];
      s[j] = hn::Mul(s[j], hn::Set(d, factor));
    }
    for (int j = 0; j < kVectors; ++j) {
      s[j] = hn::MulAdd(key, v[r][j], s[j]);
      y[r][j] = hn::MulAdd(query, s[j], y[r][j]);
    }
  }
}

/// Rows [t, t + kRows): a row of the state is read and written once for them.
template <int kRows, int kVectors, bool kRates>
HWY_INLINE void ScanRows(const ScanColumns& c, const StateColumns<kVectors>& columns, int64_t t) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const float* from = t == 0 ? c.from : c.to;
  V v[kRows][kVectors], y[kRows][kVectors], times[kVectors];
  for (int r = 0; r < kRows; ++r) {
    RowValues(c, columns, from, t + r, v[r]);
    for (int j = 0; j < kVectors; ++j) y[r][j] = hn::Zero(d);
  }
  for (int j = 0; kRates && j < kVectors; ++j)
    times[j] = columns.Load(c.times + t * c.value_row, j);
#pragma GCC unroll 1
  for (int64_t i = 0; i < c.size; ++i) {
    V s[kVectors];
    for (int j = 0; j < kVectors; ++j)
      s[j] = from == nullptr ? hn::Zero(d) : columns.Load(from + i * c.state_row, j);
    if constexpr (kRates) {
      V power[kVectors];
      for (int j = 0; j < kVectors; ++j)
        power[j] = hn::Mul(times[j], columns.Load(c.rates + i * c.rates_row, j));
      Exp(d, power);
      for (int j = 0; j < kVectors; ++j) s[j] = hn::Mul(s[j], power[j]);
    }
    StepRows<!kRates>(c, t, i, v, s, y);
    for (int j = 0; j < kVectors; ++j) columns.Store(s[j], c.to + i * c.state_row, j);
  }
  const V scale = hn::Set(d, c.scale);
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j)
      columns.Store(hn::Mul(y[r][j], scale), c.y + (t + r) * c.value_row, j);
  }
}

/// Of two vectors of columns, or of one that may be cut off.
template <int kVectors>
void ScanBlock(const ScanColumns& c, int64_t at, int64_t count) {
  StateColumns<kVectors> columns;
  columns.at = at;
  columns.count = count;
  int64_t t = 0;
  if (c.rates != nullptr) {
    for (; t < c.rows; ++t) ScanRows<1, kVectors, true>(c, columns, t);
    return;
  }
  if constexpr (kVectors > 1) {
    for (; c.beta == nullptr && t + 4 <= c.rows; t += 4)
      ScanRows<4, kVectors, false>(c, columns, t);
  }
  for (; t < c.rows; ++t) ScanRows<1, kVectors, false>(c, columns, t);
}

void RunScanOnTarget(const ScanColumns& c) {
  constexpr auto lanes = static_cast<int64_t>(HWY_LANES(float));
  int64_t at = 0;
  for (; at + 2 * lanes <= c.columns; at += 2 * lanes) ScanBlock<2>(c, at, 2 * lanes);
  for (; at < c.columns; at += lanes)
    ScanBlock<1>(c, at, c.columns - at < lanes ? c.columns - at : lanes);
}

void RunConvRowsOnTarget(const ConvRows& c) {
  StateColumns<1> columns;
  const auto d = columns.d;
  for (columns.at = 0; columns.at < c.channels; columns.at += columns.lanes) {
    const int64_t left = c.channels - columns.at;
    columns.count = left < columns.lanes ? left : columns.lanes;
    for (int64_t t = 0; t < c.rows; ++t) {
      auto sum = c.bias == nullptr ? hn::Zero(d) : columns.Load(c.bias, 0);
      for (int64_t k = 0; k < c.taps; ++k) {
        const int64_t row = t + k - (c.taps - 1);
        if (row < 0 && c.before == nullptr) continue;
        const float* x =
            row < 0 ? c.before + (row + c.taps - 1) * c.channels : c.x + row * c.channels;
        sum = hn::MulAdd(columns.Load(c.w + k * c.channels, 0), columns.Load(x, 0), sum);
      }
      if (c.silu) sum = hn::Div(sum, hn::Add(hn::Set(d, 1.0F), Exp(d, hn::Neg(sum))));
      columns.Store(sum, c.y + t * c.channels, 0);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RunScanOnTarget);
HWY_EXPORT(RunConvRowsOnTarget);

void RunScan(const ScanColumns& columns) { HWY_DYNAMIC_DISPATCH(RunScanOnTarget)(columns); }
void RunConvRows(const ConvRows& rows) { HWY_DYNAMIC_DISPATCH(RunConvRowsOnTarget)(rows); }

}  // namespace fettle::kernels
#endif
