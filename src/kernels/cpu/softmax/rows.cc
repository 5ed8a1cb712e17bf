#include "kernels/cpu/softmax/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax/rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"
#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

float MaxOf(const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto m0 = hn::Set(d, -std::numeric_limits<float>::infinity()), m1 = m0;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    m0 = hn::Max(m0, hn::LoadU(d, x + i));
    m1 = hn::Max(m1, hn::LoadU(d, x + i + lanes));
  }
  for (; i < n; i += lanes) {
    const auto some = hn::FirstN(d, n - i);
    m0 = hn::Max(m0, hn::IfThenElse(some, LoadSomeFloats(d, x + i, n - i), m0));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(m0, m1)));
}

/// ExpSum of a part of a row.
template <bool log>
float ExpSumOfPart(const float* x, float* y, int64_t n, float shift) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto s = hn::Set(d, shift);
  auto sum = hn::Zero(d), other = sum;
  int64_t i = 0;
  for (constexpr int kTogether = 4; i + kTogether * lanes <= n; i += kTogether * lanes) {
    hn::Vec<decltype(d)> e[kTogether];
    for (int k = 0; k < kTogether; ++k) e[k] = hn::Sub(hn::LoadU(d, x + i + k * lanes), s);
    Exp(d, e);
    for (int k = 0; !log && k < kTogether; ++k) hn::StoreU(e[k], d, y + i + k * lanes);
    sum = hn::Add(hn::Add(sum, e[0]), e[2]);
    other = hn::Add(hn::Add(other, e[1]), e[3]);
  }
  for (; i < n; i += lanes) {
    const int64_t left = n - i < lanes ? n - i : lanes;
    const auto some = hn::FirstN(d, left);
    hn::Vec<decltype(d)> e[] = {
        hn::IfThenElseZero(some, hn::Sub(LoadSomeFloats(d, x + i, left), s))};
    Exp(d, e);
    if constexpr (!log) StoreSomeFloats(d, e[0], y + i, left);
    sum = hn::Add(sum, hn::IfThenElseZero(some, e[0]));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other)));
}

/// y = e^(x - shift), or nothing is written where `log`; returns the sum. Sums of parts keep their
/// digits, whatever the lanes are.
template <bool log>
float ExpSum(const float* x, float* y, int64_t n, float shift) {
  const int64_t part = 256 * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  float sum = 0;
  for (int64_t begin = 0; begin < n; begin += part)
    sum += ExpSumOfPart<log>(x + begin, y + begin, n - begin < part ? n - begin : part, shift);
  return sum;
}

/// y = x * factor + offset.
void Scale(const float* x, float* y, int64_t n, float factor, float offset) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor + offset;
}

/// A row that fills kVectors registers, the last one in part: nothing of it is stored in between.
/// Of several the last one ends with the row and holds values of the one before again: masked
/// stores would hold up the next row's loads, which begin inside the same lines.
template <int kVectors>
void RowInRegisters(const float* x, float* y, int64_t n, bool nan_to_zero) {
  const hn::ScalableTag<float> d;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  const int64_t left = n - (kVectors - 1) * kLanes;
  const int64_t end = kVectors > 1 ? n - kLanes : 0;
  const auto some = kVectors > 1 ? hn::Not(hn::FirstN(d, kLanes - left)) : hn::FirstN(d, left);
  hn::Vec<hn::ScalableTag<float>> v[kVectors];
  for (int i = 0; i + 1 < kVectors; ++i) v[i] = hn::LoadU(d, x + i * kLanes);
  if constexpr (kVectors > 1) {
    v[kVectors - 1] = hn::LoadU(d, x + end);
  } else {
    v[0] = hn::IfThenElse(some, LoadSomeFloats(d, x, left), hn::Set(d, *x));
  }
  auto most = v[kVectors - 1];
  for (int i = 0; i + 1 < kVectors; ++i) most = hn::Max(most, v[i]);
  most = hn::MaxOfLanes(d, most);
  for (int i = 0; i < kVectors; ++i) v[i] = hn::Sub(v[i], most);
  Exp(d, v);
  auto sum = hn::IfThenElseZero(some, v[kVectors - 1]);
  for (int i = 0; i + 1 < kVectors; ++i) sum = hn::Add(sum, v[i]);
  const auto factor = hn::Div(hn::Set(d, 1.0f), hn::SumOfLanes(d, sum));
  if (nan_to_zero && std::isnan(hn::GetLane(factor))) {
    std::fill_n(y, n, 0.0f);
    return;
  }
  for (int i = 0; i + 1 < kVectors; ++i) hn::StoreU(hn::Mul(v[i], factor), d, y + i * kLanes);
  const auto last = hn::Mul(v[kVectors - 1], factor);
  if constexpr (kVectors > 1) {
    hn::StoreU(last, d, y + end);
  } else {
    StoreSomeFloats(d, last, y, left);
  }
}

void SoftmaxRowOnTarget(const float* x, float* y, int64_t n, SoftmaxForm form) {
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  constexpr void (*kInRegisters[])(const float*, float*, int64_t, bool) = {
      RowInRegisters<1>, RowInRegisters<2>, RowInRegisters<3>, RowInRegisters<4>};
  const bool log = form == SoftmaxForm::kLogarithm, safe = form == SoftmaxForm::kNanToZero;
  if (!log && n <= 4 * kLanes) return kInRegisters[(n - 1) / kLanes](x, y, n, safe);
  const float most = MaxOf(x, n);
  if (log) {
    // Two steps: the logarithm may be far smaller than the maximum.
    const float offset = -std::log(ExpSum<true>(x, y, n, most));
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - most) + offset;
    return;
  }
  const float sum = ExpSum<false>(x, y, n, most);
  if (safe && std::isnan(sum)) {
    std::fill_n(y, n, 0.0f);
    return;
  }
  Scale(y, y, n, 1.0f / sum, 0.0f);
}

/// Of a vector or less; longer ones are faster in vectors of their own.
int64_t LongestShortRowOnTarget() { return HWY_LANES(float); }

/// One vector of columns, `count` of them.
template <SoftmaxForm kForm>
void ColumnVector(const float* x, float* y, int64_t n, int64_t stride, int64_t count) {
  constexpr bool log = kForm == SoftmaxForm::kLogarithm;
  const hn::ScalableTag<float> d;
  const bool whole = count == static_cast<int64_t>(hn::Lanes(d));
  const auto load = [&](const float* p)
                        HWY_ATTR { return whole ? hn::LoadU(d, p) : LoadSomeFloats(d, p, count); };
  auto most = load(x);
  for (int64_t r = 1; r < n; ++r) most = hn::Max(most, load(x + r * stride));
  auto sum = hn::Zero(d);
  constexpr int kTogether = 4;
  for (int64_t r = 0; r < n; r += kTogether) {
    hn::Vec<decltype(d)> e[kTogether];
    for (int k = 0; k < kTogether; ++k)
      e[k] = hn::Sub(load(x + (r + k < n ? r + k : r) * stride), most);
    Exp(d, e);
    for (int k = 0; k < kTogether && r + k < n; ++k) {
      sum = hn::Add(sum, e[k]);
      if constexpr (!log) StoreSomeFloats(d, e[k], y + (r + k) * stride, count);
    }
  }
  const auto last = log ? Log(d, sum) : hn::Div(hn::Set(d, 1.0f), sum);
  for (int64_t r = 0; r < n; ++r) {
    auto v = log ? hn::Sub(hn::Sub(load(x + r * stride), most), last)
                 : hn::Mul(load(y + r * stride), last);
    if constexpr (kForm == SoftmaxForm::kNanToZero) v = hn::IfThenZeroElse(hn::IsNaN(v), v);
    StoreSomeFloats(d, v, y + r * stride, count);
  }
}

/// Fewer columns than a vector has lanes, without gaps: lane l of vector j holds column
/// (j * lanes + l) % columns, and every `columns` vectors the same ones.
class FewColumns {
 public:
  FewColumns(int64_t n, int64_t columns)
      : all_(n * columns), columns_(columns), period_(columns * kLanes) {}

  void Run(const float* x, float* y, SoftmaxForm form) {
    const bool log = form == SoftmaxForm::kLogarithm, safe = form == SoftmaxForm::kNanToZero;
    std::fill_n(most_, period_, -std::numeric_limits<float>::infinity());
    std::fill_n(sum_, period_, 0.0f);
    ForVectors([&](int64_t i, int64_t j, int64_t count) HWY_ATTR {
      const auto most = hn::Load(d_, most_ + j);
      hn::Store(hn::IfThenElse(hn::FirstN(d_, count), hn::Max(most, Get(x + i, count)), most), d_,
                most_ + j);
    });
    Join(most_, [](float a, float b) { return a > b || a != a ? a : b; });
    ForVectors([&](int64_t i, int64_t j, int64_t count) HWY_ATTR {
      const auto some = hn::FirstN(d_, count);
      hn::Vec<hn::ScalableTag<float>> e[] = {
          hn::IfThenElseZero(some, hn::Sub(Get(x + i, count), hn::Load(d_, most_ + j)))};
      Exp(d_, e);
      if (!log) StoreSomeFloats(d_, e[0], y + i, count);
      hn::Store(hn::Add(hn::Load(d_, sum_ + j), hn::IfThenElseZero(some, e[0])), d_, sum_ + j);
    });
    Join(sum_, [](float a, float b) { return a + b; });
    for (int64_t i = 0; i < period_; ++i) sum_[i] = log ? std::log(sum_[i]) : 1.0f / sum_[i];
    ForVectors([&](int64_t i, int64_t j, int64_t count) HWY_ATTR {
      const auto last = hn::Load(d_, sum_ + j);
      auto v = log ? hn::Sub(hn::Sub(Get(x + i, count), hn::Load(d_, most_ + j)), last)
                   : hn::Mul(Get(y + i, count), last);
      if (safe) v = hn::IfThenZeroElse(hn::IsNaN(v), v);
      StoreSomeFloats(d_, v, y + i, count);
    });
  }

 private:
  static constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));

  /// `f` of each vector's first element, its place in the pattern, and its lanes in use.
  template <typename F>
  HWY_INLINE void ForVectors(const F& f) const {
    for (int64_t i = 0, j = 0; i < all_; i += kLanes, j = j + kLanes < period_ ? j + kLanes : 0)
      f(i, j, all_ - i < kLanes ? all_ - i : kLanes);
  }
  HWY_INLINE hn::Vec<hn::ScalableTag<float>> Get(const float* p, int64_t count) const {
    return count == kLanes ? hn::LoadU(d_, p) : LoadSomeFloats(d_, p, count);
  }
  /// What the lanes of a column come to, in each of them.
  template <typename F>
  void Join(float* lanes, const F& join) const {
    for (int64_t i = columns_; i < period_; ++i)
      lanes[i % columns_] = join(lanes[i % columns_], lanes[i]);
    for (int64_t i = columns_; i < period_; ++i) lanes[i] = lanes[i % columns_];
  }

  const hn::ScalableTag<float> d_;
  int64_t all_, columns_, period_;
  HWY_ALIGN float most_[kLanes * kLanes];
  HWY_ALIGN float sum_[kLanes * kLanes];
};

void SoftmaxColumnsOnTarget(const float* x, float* y, int64_t n, int64_t stride, int64_t columns,
                            SoftmaxForm form) {
  constexpr void (*kOf[])(const float*, float*, int64_t, int64_t, int64_t) = {
      ColumnVector<SoftmaxForm::kPlain>, ColumnVector<SoftmaxForm::kLogarithm>,
      ColumnVector<SoftmaxForm::kNanToZero>};
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  if (columns < lanes && stride == columns && n >= 4 * lanes) {
    FewColumns(n, columns).Run(x, y, form);
    return;
  }
  for (int64_t i = 0; i < columns; i += lanes) {
    const int64_t count = columns - i < lanes ? columns - i : lanes;
    kOf[static_cast<int>(form)](x + i, y + i, n, stride, count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(SoftmaxRowOnTarget);
HWY_EXPORT(SoftmaxColumnsOnTarget);
HWY_EXPORT(LongestShortRowOnTarget);

void SoftmaxRow(const float* x, float* y, int64_t n, SoftmaxForm form) {
  HWY_DYNAMIC_DISPATCH(SoftmaxRowOnTarget)(x, y, n, form);
}

int64_t LongestShortRow() { return HWY_DYNAMIC_DISPATCH(LongestShortRowOnTarget)(); }

void SoftmaxColumns(const float* x, float* y, int64_t n, int64_t stride, int64_t columns,
                    SoftmaxForm form) {
  HWY_DYNAMIC_DISPATCH(SoftmaxColumnsOnTarget)(x, y, n, stride, columns, form);
}

}  // namespace fettle::kernels
#endif
