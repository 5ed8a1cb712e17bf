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

/// Vectors whose exponentials are computed side by side; without vectors that is but more code.
constexpr int kExpVectors = HWY_LANES(float) > 1 ? 4 : 1;

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
  for (; i + kExpVectors * lanes <= n; i += kExpVectors * lanes) {
    hn::Vec<decltype(d)> e[kExpVectors];
    for (int k = 0; k < kExpVectors; ++k) e[k] = hn::Sub(hn::LoadU(d, x + i + k * lanes), s);
    Exp(d, e);
    for (int k = 0; !log && k < kExpVectors; ++k) hn::StoreU(e[k], d, y + i + k * lanes);
    for (int k = 0; k < kExpVectors; k += 2) sum = hn::Add(sum, e[k]);
    for (int k = 1; k < kExpVectors; k += 2) other = hn::Add(other, e[k]);
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
  const bool log = form == SoftmaxForm::kLogarithm, safe = form == SoftmaxForm::kNanToZero;
  if constexpr (kLanes > 1) {
    constexpr void (*kInRegisters[])(const float*, float*, int64_t, bool) = {
        RowInRegisters<1>, RowInRegisters<2>, RowInRegisters<3>, RowInRegisters<4>};
    if (!log && n <= 4 * kLanes) return kInRegisters[(n - 1) / kLanes](x, y, n, safe);
  }
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
    Exp(d, e);
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
      Exp(d_, e);
      Put(e, count, log ? unused : y + i);
      for (int k = 0; k < kCount; ++k) sum[k] = hn::Add(sum[k], hn::IfThenElseZero(some, e[k]));
    });
    sum[0] = Join(hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3])),
                  [](float a, float b) { return a + b; });
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
    return Join(hn::Max(hn::Max(most[0], most[1]), hn::Max(most[2], most[3])),
                [](float a, float b) { return a > b ? a : b; });
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
    if (count == kLanes) {
      hn::StoreU(v[kCount - 1], d_, p);
    } else {
      StoreFirst(d_, v[kCount - 1], count, p);
    }
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

void SoftmaxColumnsOnTarget(const float* x, float* y, int64_t n, int64_t stride, int64_t columns,
                            SoftmaxForm form) {
  constexpr auto lanes = static_cast<int64_t>(HWY_LANES(float));
  if constexpr (lanes > 1) {
    if (columns < lanes && stride == columns && n >= 4 * lanes)
      return FewColumns(n, columns).Run(x, y, form);
  }
  for (int64_t i = 0; i < columns; i += lanes) {
    const int64_t count = columns - i < lanes ? columns - i : lanes;
    (form == SoftmaxForm::kLogarithm
         ? ColumnVector<true>
         : ColumnVector<false>)(x + i, y + i, n, stride, count, form == SoftmaxForm::kNanToZero);
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
