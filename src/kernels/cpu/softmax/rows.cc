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
#include "kernels/cpu/softmax/columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// Vectors whose exponentials are computed side by side; without vectors that is but more code.
constexpr int kExpVectors = HWY_LANES(float) > 1 ? 4 : 1;

/// Rows of a vector or more, each in vectors of which the last one ends with the row: it holds
/// values of the one before again, is loaded first and stored last, so that nothing needs a mask.
/// Each step is taken for some rows before the next one: a row's chain of steps is longer than what
/// the processor sees at once, and one vector holds what the rows divide by.
class RowsOfVectors {
 public:
  explicit RowsOfVectors(int64_t n) : n_(n), whole_((n - 1) / kLanes * kLanes) {}

  void Run(const float* x, float* y, int64_t rows, SoftmaxForm form) const {
    const bool log = form == SoftmaxForm::kLogarithm;
    HWY_ALIGN float most[kLanes] = {}, sums[kLanes] = {};
    for (int64_t r = 0; r < rows; ++r) most[r] = Largest(x + r * n_);
    for (int64_t r = 0; r < rows; ++r)
      sums[r] = Exponentials(x + r * n_, most[r], log ? nullptr : y + r * n_);
    const V sum = hn::Load(d_, sums);
    // (x - maximum) - logarithm, which may be far smaller than the maximum; or exponential *
    // factor.
    if (log) {
      hn::Store(Log(d_, sum), d_, sums);
      for (int64_t r = 0; r < rows; ++r) {
        const V shift = hn::Set(d_, most[r]), less = hn::Set(d_, sums[r]);
        ForAll(x + r * n_, y + r * n_,
               [&](V v) HWY_ATTR { return hn::Sub(hn::Sub(v, shift), less); });
      }
      return;
    }
    hn::Store(hn::Div(hn::Set(d_, 1.0f), sum), d_, sums);
    for (int64_t r = 0; r < rows; ++r) {
      const V factor = hn::Set(d_, sums[r]);
      ForAll(y + r * n_, y + r * n_, [&](V v) HWY_ATTR { return hn::Mul(v, factor); });
      if (form == SoftmaxForm::kNanToZero && std::isnan(sums[r])) std::fill_n(y + r * n_, n_, 0.0f);
    }
  }

 private:
  using V = hn::Vec<hn::ScalableTag<float>>;
  static constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  static constexpr int kGroupVectors = kLanes > 1 ? static_cast<int>(kTogether) : 1;

  HWY_INLINE float Largest(const float* x) const {
    V m0 = hn::LoadU(d_, x + n_ - kLanes), m1 = m0;
    int64_t i = 0;
    for (; i + kLanes < whole_; i += 2 * kLanes) {
      m0 = hn::Max(m0, hn::LoadU(d_, x + i));
      m1 = hn::Max(m1, hn::LoadU(d_, x + i + kLanes));
    }
    if (i < whole_) m0 = hn::Max(m0, hn::LoadU(d_, x + i));
    return hn::GetLane(hn::MaxOfLanes(d_, hn::Max(m0, m1)));
  }
  /// y = e^(x - most), where there is one; the sum. Sums of parts keep their digits.
  HWY_INLINE float Exponentials(const float* x, float most, float* y) const {
    constexpr int64_t kGroup = kGroupVectors * kLanes, kPart = 64 * kGroup;
    const int64_t groups = whole_ / kGroup * kGroup;
    const V shift = hn::Set(d_, most), last = hn::LoadU(d_, x + n_ - kLanes);
    V total = hn::Zero(d_), e[kGroupVectors];
    for (int64_t i = 0; i < groups;) {
      V sum[2] = {hn::Zero(d_), hn::Zero(d_)};
      for (const int64_t end = groups - i < kPart ? groups : i + kPart; i < end; i += kGroup) {
        for (int k = 0; k < kGroupVectors; ++k)
          e[k] = hn::Sub(hn::LoadU(d_, x + i + k * kLanes), shift);
        ExpDown(d_, e);
        for (int k = 0; y != nullptr && k < kGroupVectors; ++k)
          hn::StoreU(e[k], d_, y + i + k * kLanes);
        for (int k = 0; k < kGroupVectors; ++k) sum[k % 2] = hn::Add(sum[k % 2], e[k]);
      }
      total = hn::Add(total, hn::Add(sum[0], sum[1]));
    }
    // Fewer whole vectors than a group has, and the last one.
    const auto left = static_cast<int>((whole_ - groups) / kLanes);
    for (int k = 0; k < kGroupVectors; ++k)
      e[k] = hn::Sub(k < left ? hn::LoadU(d_, x + groups + k * kLanes) : last, shift);
    ExpDown(d_, e);
    for (int k = 0; k + 1 < kGroupVectors && k < left; ++k) {
      if (y != nullptr) hn::StoreU(e[k], d_, y + groups + k * kLanes);
      total = hn::Add(total, e[k]);
    }
    const V end = e[kGroupVectors - 1];
    if (y != nullptr) hn::StoreU(end, d_, y + n_ - kLanes);
    const auto again = hn::FirstN(d_, static_cast<size_t>(kLanes - (n_ - whole_)));
    return hn::GetLane(hn::SumOfLanes(d_, hn::Add(total, hn::IfThenZeroElse(again, end))));
  }
  template <typename F>
  HWY_INLINE void ForAll(const float* x, float* y, const F& f) const {
    const V last = hn::LoadU(d_, x + n_ - kLanes);
    for (int64_t i = 0; i < whole_; i += kLanes) hn::StoreU(f(hn::LoadU(d_, x + i)), d_, y + i);
    hn::StoreU(f(last), d_, y + n_ - kLanes);
  }

  const hn::ScalableTag<float> d_;
  int64_t n_, whole_;
};

/// Of less than a vector; longer ones are faster in vectors of their own.
int64_t LongestShortRowOnTarget() { return HWY_LANES(float) - 1; }

/// One vector of columns, `count` of them.
template <bool log>
void ColumnVector(const float* x, float* y, int64_t n, int64_t stride, int64_t count,
                  bool nan_to_zero) {
  const hn::ScalableTag<float> d;
  const bool whole = count == static_cast<int64_t>(hn::Lanes(d));
  const auto load = [&](const float* p)
                        HWY_ATTR { return whole ? hn::LoadU(d, p) : LoadSomeFloats(d, p, count); };
  auto most = load(x);
  for (int64_t r = 1; r < n; ++r) most = hn::Max(most, load(x + r * stride));
  auto sum = hn::Zero(d);
  for (int64_t r = 0; r < n; r += kExpVectors) {
    hn::Vec<decltype(d)> e[kExpVectors];
    for (int k = 0; k < kExpVectors; ++k)
      e[k] = hn::Sub(load(x + (r + k < n ? r + k : r) * stride), most);
    ExpDown(d, e);
    for (int k = 0; k < kExpVectors && r + k < n; ++k) {
      sum = hn::Add(sum, e[k]);
      if constexpr (!log) StoreSomeFloats(d, e[k], y + (r + k) * stride, count);
    }
  }
  const auto last = log ? Log(d, sum) : hn::Div(hn::Set(d, 1.0f), sum);
  const auto judged = nan_to_zero ? sum : hn::Zero(d);
  const auto keep = hn::Eq(judged, judged);
  for (int64_t r = 0; r < n; ++r) {
    const auto v = log ? hn::Sub(hn::Sub(load(x + r * stride), most), last)
                       : hn::Mul(load(y + r * stride), last);
    StoreSomeFloats(d, hn::IfThenElseZero(keep, v), y + r * stride, count);
  }
}

/// Fewer columns than a vector has lanes, without gaps: a vector holds as many whole rows as it
/// can.
class FewColumns {
 public:
  FewColumns(int64_t n, int64_t columns)
      : all_(n * columns), columns_(columns), step_(kLanes / columns * columns) {}

  /// No branch on the form in any loop: the compiler would make copies of them all.
  void Run(const float* x, float* y, SoftmaxForm form) const {
    const bool log = form == SoftmaxForm::kLogarithm;
    const V zero = hn::Zero(d_), one = hn::Set(d_, 1.0f);
    const V most = Largest(x);
    V sum[kExpVectors];
    for (V& v : sum) v = zero;
    HWY_ALIGN float unused[kExpVectors * kLanes];
    ForVectors([&]<int kCount>(int64_t i, int64_t count) HWY_ATTR {
      const auto some = hn::FirstN(d_, count);
      V e[kCount];
      for (int k = 0; k < kCount; ++k)
        e[k] = hn::IfThenElseZero(some, hn::Sub(Get<kCount>(x + i + k * step_, count), most));
      ExpDown(d_, e);
      Put(e, count, log ? unused : y + i);
      for (int k = 0; k < kCount; ++k) sum[k] = hn::Add(sum[k], hn::IfThenElseZero(some, e[k]));
    });
    Fold(sum, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
    sum[0] = Join(sum[0], [](float a, float b) { return a + b; });
    const auto keep = form == SoftmaxForm::kNanToZero ? hn::Eq(sum[0], sum[0]) : hn::Eq(one, one);
    // (x - maximum) - logarithm, or exponential * factor.
    const V less = log ? most : zero, factor = log ? one : hn::Div(one, sum[0]);
    const V last = log ? Log(d_, sum[0]) : zero;
    const float* from = log ? x : y;
    ForVectors([&]<int kCount>(int64_t i, int64_t count) HWY_ATTR {
      V v[kCount];
      for (int k = 0; k < kCount; ++k) {
        v[k] = hn::Mul(hn::Sub(Get<kCount>(from + i + k * step_, count), less), factor);
        v[k] = hn::IfThenElseZero(keep, hn::Sub(v[k], last));
      }
      Put(v, count, y + i);
    });
  }

 private:
  using V = hn::Vec<hn::ScalableTag<float>>;
  static constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));

  /// Of each column, in its lanes; NaN comes through the exponentials.
  HWY_INLINE V Largest(const float* x) const {
    V most[kExpVectors];
    for (V& v : most) v = hn::Set(d_, -std::numeric_limits<float>::infinity());
    ForVectors([&]<int kCount>(int64_t i, int64_t count) HWY_ATTR {
      const auto some = hn::FirstN(d_, count);
      for (int k = 0; k < kCount; ++k) {
        const V v = hn::Max(most[k], Get<kCount>(x + i + k * step_, count));
        most[k] = hn::IfThenElse(some, v, most[k]);
      }
    });
    Fold(most, [](V a, V b) HWY_ATTR { return hn::Max(a, b); });
    return Join(most[0], [](float a, float b) { return a > b ? a : b; });
  }
  /// `f` of the first element of kExpVectors vectors or of one, and the lanes of each in use.
  template <typename F>
  HWY_INLINE void ForVectors(const F& f) const {
    int64_t i = 0;
    for (; i + (kExpVectors - 1) * step_ + kLanes <= all_; i += kExpVectors * step_)
      f.template operator()<kExpVectors>(i, step_);
    for (; i < all_; i += step_) f.template operator()<1>(i, all_ - i < step_ ? all_ - i : step_);
  }
  /// Of several vectors, nothing lies behind the end of any.
  template <int kCount>
  HWY_INLINE V Get(const float* p, int64_t count) const {
    return kCount > 1 || count == kLanes ? hn::LoadU(d_, p) : LoadSomeFloats(d_, p, count);
  }
  /// The next vector overwrites what is stored behind the lanes in use.
  template <int kCount>
  HWY_INLINE void Put(const V (&v)[kCount], int64_t count, float* p) const {
    for (int k = 0; k + 1 < kCount; ++k) hn::StoreU(v[k], d_, p + k * step_);
    p += (kCount - 1) * step_;
    StoreUpTo(d_, v[kCount - 1], count, p);
  }
  /// What all these come to, in the first of them.
  template <typename F>
  HWY_INLINE static void Fold(V (&v)[kExpVectors], const F& f) {
    for (int half = kExpVectors / 2; half > 0; half /= 2)
      for (int k = 0; k < half; ++k) v[k] = f(v[k], v[k + half]);
  }
  /// What the lanes of a column come to, in each of these.
  HWY_NOINLINE V Join(V v, float (*join)(float, float)) const {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(v, d_, lanes);
    for (int64_t l = columns_, c = 0; l < step_; ++l, c = c + 1 < columns_ ? c + 1 : 0)
      lanes[c] = join(lanes[c], lanes[l]);
    for (int64_t l = columns_; l < step_; ++l) lanes[l] = lanes[l - columns_];
    return hn::Load(d_, lanes);
  }

  const hn::ScalableTag<float> d_;
  int64_t all_, columns_, step_;
};

/// Rows of one element: 1, or 0 as its logarithm, and NaN where it is no finite number.
HWY_NOINLINE void SoftmaxOnes(const float* x, float* y, int64_t rows, float one) {
  const hn::ScalableTag<float> d;
  constexpr auto lanes = static_cast<int64_t>(HWY_LANES(float));
  const auto of = [&](auto v) HWY_ATTR { return hn::Add(hn::Sub(v, v), hn::Set(d, one)); };
  int64_t i = 0;
#pragma GCC unroll 1
  for (; i + lanes <= rows; i += lanes) hn::StoreU(of(hn::LoadU(d, x + i)), d, y + i);
  if (i < rows) StoreSomeFloats(d, of(LoadSomeFloats(d, x + i, rows - i)), y + i, rows - i);
}

void SoftmaxColumnsOnTarget(const float* x, float* y, int64_t n, int64_t stride, int64_t columns,
                            SoftmaxForm form) {
  constexpr auto lanes = static_cast<int64_t>(HWY_LANES(float));
  if (n == 1 && form != SoftmaxForm::kNanToZero)
    return SoftmaxOnes(x, y, columns, form == SoftmaxForm::kLogarithm ? 0.0f : 1.0f);
  if constexpr (lanes > 1) {
    if (columns < lanes && stride == columns && n >= 4 * lanes)
      return FewColumns(n, columns).Run(x, y, form);
  }
  // Shorter columns stay in the first-level cache.
  constexpr int64_t kLong = 64, kWide = kExpVectors * lanes;
  const bool log = form == SoftmaxForm::kLogarithm, nan_to_zero = form == SoftmaxForm::kNanToZero;
  int64_t i = 0;
  for (; lanes > 1 && n > kLong && i + kWide <= columns; i += kWide)
    (log ? WideColumns<true, kExpVectors> : WideColumns<false, kExpVectors>)(x + i, y + i, n,
                                                                             stride, nan_to_zero);
  for (; i < columns; i += lanes) {
    const int64_t count = columns - i < lanes ? columns - i : lanes;
    (log ? ColumnVector<true> : ColumnVector<false>)(x + i, y + i, n, stride, count, nan_to_zero);
  }
}

void SoftmaxRowsOnTarget(const float* x, float* y, int64_t rows, int64_t n, SoftmaxForm form) {
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  // As many as stay in the first-level cache.
  const int64_t step = n < kLanes || n > 512 ? 1 : std::min(kLanes, 1024 / n);
  for (int64_t r = 0; r < rows; r += step, x += step * n, y += step * n) {
    if (n < kLanes) {
      SoftmaxColumnsOnTarget(x, y, n, 1, 1, form);
    } else {
      RowsOfVectors(n).Run(x, y, rows - r < step ? rows - r : step, form);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(SoftmaxRowsOnTarget);
HWY_EXPORT(SoftmaxColumnsOnTarget);
HWY_EXPORT(LongestShortRowOnTarget);

void SoftmaxRows(const float* x, float* y, int64_t rows, int64_t n, SoftmaxForm form) {
  HWY_DYNAMIC_DISPATCH(SoftmaxRowsOnTarget)(x, y, rows, n, form);
}

int64_t LongestShortRow() { return HWY_DYNAMIC_DISPATCH(LongestShortRowOnTarget)(); }

void SoftmaxColumns(const float* x, float* y, int64_t n, int64_t stride, int64_t columns,
                    SoftmaxForm form) {
  HWY_DYNAMIC_DISPATCH(SoftmaxColumnsOnTarget)(x, y, n, stride, columns, form);
}

}  // namespace fettle::kernels
#endif
