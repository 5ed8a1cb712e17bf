// compiled: by hand
#include "kernels/cpu/norm/rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm/rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"
#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// Elements whose sums are made at once, and those of a row that is read once.
constexpr int64_t kPart = 4096, kLongRow = 16384;

/// The sum of x - shift, or of its squares, of a part of a row.
template <bool squares>
float SumOfPart(const float* x, int64_t n, float shift) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m = hn::Set(d, shift);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  const auto step = [&](auto sum, auto v) HWY_ATTR {
    const auto centred = hn::Sub(v, m);
    return squares ? hn::MulAdd(centred, centred, sum) : hn::Add(sum, centred);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = step(s0, hn::LoadU(d, x + i));
    s1 = step(s1, hn::LoadU(d, x + i + lanes));
    s2 = step(s2, hn::LoadU(d, x + i + 2 * lanes));
    s3 = step(s3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = step(s0, hn::LoadU(d, x + i));
  if (i < n) {
    const auto some = hn::FirstN(d, n - i);
    s1 = hn::IfThenElse(some, step(s1, LoadSomeFloats(d, x + i, n - i)), s1);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

/// The same of a whole row. Sums of parts keep their digits, whatever the lanes are.
template <bool squares>
float SumOf(const float* x, int64_t n, float shift) {
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kPart)
    sum += SumOfPart<squares>(x + begin, n - begin < kPart ? n - begin : kPart, shift);
  return static_cast<float>(sum);
}

/// A row that outgrows the near caches, in parts that do not: it is read once. What parts know of
/// their own means is joined as Chan, Golub and LeVeque do.
RowStatistics MeasureParts(const float* x, int64_t n) {
  double mean = 0, squares = 0;
  for (int64_t begin = 0; begin < n; begin += kPart) {
    const int64_t count = std::min(kPart, n - begin);
    const auto of = static_cast<float>(count);
    const float first = SumOfPart<false>(x + begin, count, 0) / of;
    const float own = first + SumOfPart<false>(x + begin, count, first) / of;
    const double share = static_cast<double>(count) / static_cast<double>(begin + count);
    const double apart = static_cast<double>(own) - mean;
    squares += static_cast<double>(SumOfPart<true>(x + begin, count, own)) +
               apart * apart * static_cast<double>(begin) * share;
    mean += apart * share;
  }
  return {static_cast<float>(mean), static_cast<float>(squares / static_cast<double>(n))};
}

void MeasureRowsOnTarget(const float* x, int64_t rows, int64_t n, bool takes_mean,
                         RowStatistics* statistics) {
  if (takes_mean && n >= kLongRow) {
    for (int64_t r = 0; r < rows; ++r) statistics[r] = MeasureParts(x + r * n, n);
    return;
  }
  const auto count = static_cast<float>(n);
  for (int64_t r = 0; r < rows; ++r)
    statistics[r].mean = takes_mean ? SumOf<false>(x + r * n, n, 0) / count : 0;
  // The second sum is small: it takes the rounding of the first back.
  for (int64_t r = 0; r < rows && takes_mean; ++r)
    statistics[r].mean += SumOf<false>(x + r * n, n, statistics[r].mean) / count;
  for (int64_t r = 0; r < rows; ++r)
    statistics[r].variance = SumOf<true>(x + r * n, n, statistics[r].mean) / count;
}

void ScaleShiftRowOnTarget(const float* x, float* y, int64_t n, float mean, float a, float b) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m = hn::Set(d, mean), va = hn::Set(d, a), vb = hn::Set(d, b);
  const auto scaled = [&](auto v) HWY_ATTR { return hn::MulAdd(hn::Sub(v, m), va, vb); };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(scaled(hn::LoadU(d, x + i)), d, y + i);
  if (i < n) StoreSomeFloats(d, scaled(LoadSomeFloats(d, x + i, n - i)), y + i, n - i);
}

void NormaliseRowOnTarget(const float* x, float* y, int64_t n, float mean, float factor,
                          const float* scale, const float* bias) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m = hn::Set(d, mean), f = hn::Set(d, factor);
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t count = std::min(lanes, n - i);
    const auto load = [&](const float* p) HWY_ATTR {
      return count == lanes ? hn::LoadU(d, p + i) : LoadSomeFloats(d, p + i, count);
    };
    const auto normal = hn::Mul(hn::Sub(load(x), m), f);
    const auto scaled = hn::Mul(normal, load(scale));
    const auto result = bias == nullptr ? scaled : hn::Add(scaled, load(bias));
    if (count == lanes) {
      hn::StoreU(result, d, y + i);
    } else {
      StoreSomeFloats(d, result, y + i, count);
    }
  }
}

void SquaredDeviationsOnTarget(const float* x, int64_t rows, int64_t columns, const float* mean,
                               float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = 0; c < columns; c += lanes) {
    const int64_t count = std::min(lanes, columns - c);
    const auto m = LoadSomeFloats(d, mean + c, count);
    auto sum = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r) {
      const float* p = x + r * columns + c;
      const auto v = count == lanes ? hn::LoadU(d, p) : LoadSomeFloats(d, p, count);
      const auto centred = hn::Sub(v, m);
      sum = hn::MulAdd(centred, centred, sum);
    }
    StoreSomeFloats(d, sum, to + c, count);
  }
}

void ScaleShiftColumnsOnTarget(const float* x, float* y, int64_t rows, int64_t columns,
                               const float* mean, const float* a, const float* b) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, x += columns, y += columns) {
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) {
      const auto centred = hn::Sub(hn::LoadU(d, x + c), hn::LoadU(d, mean + c));
      hn::StoreU(hn::MulAdd(centred, hn::LoadU(d, a + c), hn::LoadU(d, b + c)), d, y + c);
    }
    if (c == columns) continue;
    const int64_t count = columns - c;
    const auto centred =
        hn::Sub(LoadSomeFloats(d, x + c, count), LoadSomeFloats(d, mean + c, count));
    const auto scaled =
        hn::MulAdd(centred, LoadSomeFloats(d, a + c, count), LoadSomeFloats(d, b + c, count));
    StoreSomeFloats(d, scaled, y + c, count);
  }
}

/// x * (bias + alpha * sum)^-beta
template <class D, class V>
HWY_INLINE V Respond(D d, const ResponseWindow& window, V x, V sum) {
  const V base = hn::MulAdd(sum, hn::Set(d, window.alpha), hn::Set(d, window.bias));
  return hn::Mul(x, Exp(d, hn::Mul(Log(d, base), hn::Set(d, -window.beta))));
}

void ResponseColumnsOnTarget(const ResponseWindow& window, const float* x, float* y, int64_t stride,
                             int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = 0; c < window.channels; ++c) {
    const int64_t first = std::max<int64_t>(0, c - window.before),
                  last = std::min(window.channels - 1, c + window.after);
    for (int64_t i = 0; i < count; i += lanes) {
      const int64_t some = std::min(lanes, count - i);
      auto sum = hn::Zero(d);
      for (int64_t k = first; k <= last; ++k) {
        const auto v = LoadSomeFloats(d, x + k * stride + i, some);
        sum = hn::MulAdd(v, v, sum);
      }
      const auto v = LoadSomeFloats(d, x + c * stride + i, some);
      StoreSomeFloats(d, Respond(d, window, v, sum), y + c * stride + i, some);
    }
  }
}

void ResponsePixelOnTarget(const ResponseWindow& window, const float* x, float* y, float* squares) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t n = window.channels;
  std::fill_n(squares, window.before, 0.0f);
  for (int64_t c = 0; c < n; ++c) squares[window.before + c] = x[c] * x[c];
  std::fill_n(squares + window.before + n, window.after, 0.0f);
  for (int64_t c = 0; c < n; c += lanes) {
    const int64_t some = std::min(lanes, n - c);
    auto sum = hn::Zero(d);
    for (int64_t k = 0; k <= window.before + window.after; ++k)
      sum = hn::Add(sum, LoadSomeFloats(d, squares + c + k, some));
    StoreSomeFloats(d, Respond(d, window, LoadSomeFloats(d, x + c, some), sum), y + c, some);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(MeasureRowsOnTarget);
HWY_EXPORT(ScaleShiftRowOnTarget);
HWY_EXPORT(NormaliseRowOnTarget);
HWY_EXPORT(SquaredDeviationsOnTarget);
HWY_EXPORT(ScaleShiftColumnsOnTarget);
HWY_EXPORT(ResponseColumnsOnTarget);
HWY_EXPORT(ResponsePixelOnTarget);

void MeasureRows(const float* x, int64_t rows, int64_t n, bool takes_mean,
                 RowStatistics* statistics) {
  HWY_DYNAMIC_DISPATCH(MeasureRowsOnTarget)(x, rows, n, takes_mean, statistics);
}
void ScaleShiftRow(const float* x, float* y, int64_t n, float mean, float a, float b) {
  HWY_DYNAMIC_DISPATCH(ScaleShiftRowOnTarget)(x, y, n, mean, a, b);
}
void NormaliseRow(const float* x, float* y, int64_t n, float mean, float factor, const float* scale,
                  const float* bias) {
  HWY_DYNAMIC_DISPATCH(NormaliseRowOnTarget)(x, y, n, mean, factor, scale, bias);
}
void SquaredDeviations(const float* x, int64_t rows, int64_t columns, const float* mean,
                       float* to) {
  HWY_DYNAMIC_DISPATCH(SquaredDeviationsOnTarget)(x, rows, columns, mean, to);
}
void ScaleShiftColumns(const float* x, float* y, int64_t rows, int64_t columns, const float* mean,
                       const float* a, const float* b) {
  HWY_DYNAMIC_DISPATCH(ScaleShiftColumnsOnTarget)(x, y, rows, columns, mean, a, b);
}
void ResponseColumns(const ResponseWindow& window, const float* x, float* y, int64_t stride,
                     int64_t count) {
  HWY_DYNAMIC_DISPATCH(ResponseColumnsOnTarget)(window, x, y, stride, count);
}
void ResponsePixel(const ResponseWindow& window, const float* x, float* y, float* squares) {
  HWY_DYNAMIC_DISPATCH(ResponsePixelOnTarget)(window, x, y, squares);
}

}  // namespace fettle::kernels
#endif
