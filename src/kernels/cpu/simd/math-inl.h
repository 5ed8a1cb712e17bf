// Elementary functions on vectors of float, within 4 units in the last place unless said. Included
// once per SIMD target, inside no namespace. Polynomials are Chebyshev fits of the quotients named
// at each (error below 2^-25 relative to the result); range reductions after Cody & Waite.
#if defined(FETTLE_KERNELS_CPU_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_SIMD_MATH_INL_H_
#undef FETTLE_KERNELS_CPU_SIMD_MATH_INL_H_
#else
#define FETTLE_KERNELS_CPU_SIMD_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// c[0] + x * (c[1] + x * ...), lowest power first.
template <class D, class V, size_t N>
HWY_INLINE V Horner(D d, V x, const float (&c)[N]) {
  V sum = hn::Set(d, c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

/// Functions of several vectors take each step for all of them: the chain of steps of a single one
/// fills the processor's scheduler before the next one's begins. As many as registers hold.
inline constexpr size_t kTogether = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 4 : 2;

/// The same of each x.
template <class D, class V, size_t N, size_t K>
HWY_INLINE void Horner(D d, const V (&x)[N], const float (&c)[K], V (&sum)[N]) {
  for (V& one : sum) one = hn::Set(d, c[K - 1]);
  for (size_t k = K - 1; k-- > 0;) {
    for (size_t i = 0; i < N; ++i) sum[i] = hn::MulAdd(sum[i], x[i], hn::Set(d, c[k]));
  }
}

/// 2^n for -127 < n < 128.
template <class D, class VI>
HWY_INLINE hn::Vec<D> PowerOfTwo(D d, VI n) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}

/// Splits e^x = 2^n * (1 + m), |m| <= 0.42; |x| < 2^20.
template <class D, class V>
HWY_INLINE V ExpParts(D d, V x, hn::Vec<hn::RebindToSigned<D>>& n) {
  const hn::RebindToSigned<D> di;
  const V whole = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504089f)));
  // ln 2 in two parts; products of the first with small integers are exact.
  V r = hn::NegMulAdd(whole, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(whole, hn::Set(d, -2.12194440055e-4f), r);
  n = hn::ConvertTo(di, whole);
  // (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2
  constexpr float kQuotient[] = {0.500000001362f,   0.166666666818f,   0.0416664633863f,
                                 0.00833331075458f, 0.00139338204898f, 0.000198911801583f};
  return hn::MulAdd(hn::Mul(r, r), Horner(d, r, kQuotient), r);
}

/// e^r on |r| <= ln(2) / 2.
inline constexpr float kExpOfRest[] = {1.0f,
                                       1.0f,
                                       0.499999940395f,
                                       0.16666431725f,
                                       0.0416680015624f,
                                       0.00837415549904f,
                                       0.00138436537236f};
/// A sum with 1.5 * 2^23 is whole, and holds a small integer in its lowest bits.
inline constexpr float kWhole = 12582912.0f;

/// e^x = 2^n e^r of each: n + shift, which is whole itself, and e^r; |x| < 2^20.
template <class D, class V, size_t N>
HWY_INLINE void ExpFactors(D d, const V (&x)[N], V (&n)[N], V (&power)[N], float shift = kWhole) {
  const V whole = hn::Set(d, shift);
  V r[N];
  for (size_t i = 0; i < N; ++i) n[i] = hn::MulAdd(x[i], hn::Set(d, 1.44269504089f), whole);
  // ln 2 in two parts; products of the first with small integers are exact.
  for (size_t i = 0; i < N; ++i)
    r[i] = hn::NegMulAdd(hn::Sub(n[i], whole), hn::Set(d, 0.693359375f), x[i]);
  for (size_t i = 0; i < N; ++i)
    r[i] = hn::NegMulAdd(hn::Sub(n[i], whole), hn::Set(d, -2.12194440055e-4f), r[i]);
  Horner(d, r, kExpOfRest, power);
}

/// e^x / 2^halvings; 0 and infinity beyond the range, NaN stays NaN.
template <class D, class V>
HWY_INLINE V Exp(D d, V x, int halvings = 0) {
  const hn::RebindToSigned<D> di;
  const V clamped[] = {hn::Min(hn::Max(x, hn::Set(d, -104.0f)), hn::Set(d, 90.0f))};
  V whole[1], power[1];
  ExpFactors(d, clamped, whole, power);
  // Two factors: 2^n alone may be subnormal or past the largest finite number.
  const auto none = hn::BitCast(di, hn::Set(d, kWhole));
  const auto n = hn::Sub(hn::BitCast(di, whole[0]), hn::Add(none, hn::Set(di, halvings)));
  const auto half = hn::ShiftRight<1>(n);
  const V y = hn::Mul(hn::Mul(power[0], PowerOfTwo(d, half)), PowerOfTwo(d, hn::Sub(n, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// Of whatever numbers; once in a file, not at each place that has such numbers now and then.
template <class D, class V>
HWY_NOINLINE void ExpOfAny(D d, V* x, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] = Exp(d, x[i]);
}

/// The same bits of each, faster where all are numbers whose powers are normal.
template <class D, class V, size_t N>
HWY_INLINE void Exp(D d, V (&x)[N]) {
  const hn::RebindToSigned<D> di;
  const V bound = hn::Set(d, 87.0f);
  auto near = hn::Le(hn::Abs(x[0]), bound);  // NaN is not
  for (size_t i = 1; i < N; ++i) near = hn::And(near, hn::Le(hn::Abs(x[i]), bound));
  if (HWY_UNLIKELY(!hn::AllTrue(d, near))) {
    V any[N];  // x itself stays in registers
    for (size_t i = 0; i < N; ++i) any[i] = x[i];
    ExpOfAny(d, any, N);
    for (size_t i = 0; i < N; ++i) x[i] = any[i];
    return;
  }
  V n[N], power[N];
  ExpFactors(d, x, n, power);
  for (size_t i = 0; i < N; ++i) {
    const auto scale = hn::ShiftLeft<23>(hn::BitCast(di, n[i]));
    x[i] = hn::BitCast(d, hn::Add(hn::BitCast(di, power[i]), scale));
  }
}

/// e^x of each x <= 0 or NaN, without a branch: 0 below -87.7, and the same bits as above where the
/// power is normal. Softmax takes it of differences from the greatest number, and masks make them
/// large.
template <class D, class V, size_t N>
HWY_INLINE void ExpDown(D d, V (&x)[N]) {
  const hn::RebindToSigned<D> di;
  const V bound = hn::Set(d, -88.0f);
  // NaN stays NaN.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  for (V& one : x) one = hn::Max(bound, one);  // the second of two where one is NaN
#else
  for (V& one : x) one = hn::IfThenElse(hn::Lt(one, bound), bound, one);
#endif
  // n has the bias of a float's exponent: shifted, it is 2^n, or 0 of n = -127.
  V n[N], power[N];
  ExpFactors(d, x, n, power, kWhole + 127);
  for (size_t i = 0; i < N; ++i) {
    const auto scale = hn::ShiftLeft<23>(hn::BitCast(di, n[i]));
    x[i] = hn::Mul(power[i], hn::BitCast(d, scale));
  }
}

/// e^x - 1 for x <= 88, also accurate near 0.
template <class D, class V>
HWY_INLINE V Expm1(D d, V x) {
  const V clamped = hn::Max(x, hn::Set(d, -60.0f));
  hn::Vec<hn::RebindToSigned<D>> n;
  const V m = ExpParts(d, clamped, n);
  const V scale = PowerOfTwo(d, n);
  const V y = hn::MulAdd(scale, m, hn::Sub(scale, hn::Set(d, 1.0f)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// Natural logarithm; -infinity at 0, NaN below.
template <class D, class V>
HWY_INLINE V Log(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto tiny = hn::Lt(x, hn::Set(d, 1.17549435e-38f));
  const V scaled = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 8388608.0f)), x);
  const auto bits = hn::BitCast(di, scaled);
  // Exponent of the power of two that leaves a mantissa in [sqrt(1/2), sqrt(2)).
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  const V f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent))), hn::Set(d, 1.0f));
  V e = hn::ConvertTo(d, exponent);
  e = hn::Sub(e, hn::IfThenElseZero(tiny, hn::Set(d, 23.0f)));
  // (log(1 + f) - f + f^2 / 2) / f^3
  constexpr float kQuotient[] = {0.3333333118f,    -0.24999996958f,  0.200007157489f,
                                 -0.166678023195f, 0.142490576457f,  -0.124256873315f,
                                 0.116854199235f,  -0.114797338466f, 0.0697161147145f};
  const V f2 = hn::Mul(f, f);
  V y = hn::Mul(hn::Mul(Horner(d, f, kQuotient), f), f2);
  y = hn::MulAdd(e, hn::Set(d, -2.12194440055e-4f), y);
  y = hn::NegMulAdd(f2, hn::Set(d, 0.5f), y);
  y = hn::MulAdd(e, hn::Set(d, 0.693359375f), hn::Add(f, y));
  const V zero = hn::Zero(d);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Set(d, -INFINITY), y);
  y = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, NAN), y);
  // Infinity and NaN are their own logarithms.
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, INFINITY)), y, x);
}

/// 1 / x for 1 <= x < 2^126.
template <class D, class V>
HWY_INLINE V ReciprocalFrom1(D d, V x) {
#if HWY_TARGET == HWY_AVX3
  // A division takes as long as the rest of a sigmoid. The estimate has 14 bits; one step of Newton
  // doubles them.
  const V estimate = hn::ApproximateReciprocal(x);
  return hn::MulAdd(estimate, hn::NegMulAdd(x, estimate, hn::Set(d, 1.0f)), estimate);
#else
  return hn::Div(hn::Set(d, 1.0f), x);
#endif
}

/// 1 / (1 + e^-x) of each; 0 below -87, where it is less than the smallest normal number. NaN
/// becomes any number.
template <class D, class V, size_t N>
HWY_INLINE void SigmoidOfNumbers(D d, V (&x)[N]) {
  const hn::RebindToSigned<D> di;
  const V bound = hn::Set(d, 87.0f), one = hn::Set(d, 1.0f);
  V clamped[N], n[N], r[N], power[N];
  for (size_t i = 0; i < N; ++i)
    clamped[i] = hn::Min(hn::Max(x[i], hn::Neg(bound)), bound);  // e^-x stays normal and finite
  // e^-x = 2^n e^r: as ExpFactors, of -x.
  const V whole = hn::Set(d, kWhole);
  for (size_t i = 0; i < N; ++i) n[i] = hn::MulAdd(clamped[i], hn::Set(d, -1.44269504089f), whole);
  for (size_t i = 0; i < N; ++i)
    r[i] = hn::NegMulSub(hn::Sub(n[i], whole), hn::Set(d, 0.693359375f), clamped[i]);
  for (size_t i = 0; i < N; ++i)
    r[i] = hn::NegMulAdd(hn::Sub(n[i], whole), hn::Set(d, -2.12194440055e-4f), r[i]);
  Horner(d, r, kExpOfRest, power);
  for (size_t i = 0; i < N; ++i) {
    const auto scale = hn::ShiftLeft<23>(hn::BitCast(di, n[i]));
    const V e = hn::BitCast(d, hn::Add(hn::BitCast(di, power[i]), scale));
    const V y = ReciprocalFrom1(d, hn::Add(one, e));
    x[i] = hn::IfThenZeroElse(hn::Lt(x[i], hn::Neg(bound)), y);
  }
}

template <class D, class V, size_t N>
HWY_INLINE void Sigmoid(D d, V (&x)[N]) {
  V y[N];
  std::copy_n(x, N, y);
  SigmoidOfNumbers(d, y);
  for (size_t i = 0; i < N; ++i) x[i] = hn::IfThenElse(hn::IsNaN(x[i]), x[i], y[i]);
}
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  V y[] = {x};
  Sigmoid(d, y);
  return y[0];
}

/// 1 / x for normal x, within 2 units in the last place.
template <class D, class V>
HWY_INLINE V Reciprocal(D d, V x) {
#if HWY_TARGET == HWY_AVX3
  const V rough = hn::ApproximateReciprocal(x);  // 14 bits, of which a step of Newton makes 28
  return hn::Mul(rough, hn::NegMulAdd(x, rough, hn::Set(d, 2.0f)));
#else
  return hn::Div(hn::Set(d, 1.0f), x);
#endif
}

/// tanh(x) of each, within 6 units in the last place, by Eigen's rational function up to where it
/// is 1.
template <class D, class V, size_t N>
HWY_INLINE void Tanh(D d, V (&x)[N]) {
  constexpr float kTop[] = {0.999999872f,     0.130225534f,    0.00303609832f,  1.04674992e-05f,
                            -1.75837892e-08f, 4.08741721e-11f, -5.64167624e-14f};
  constexpr float kBottom[] = {1.0f, 0.463558385f, 0.024222764f, 0.000244866093f};
  const V end = hn::Set(d, 7.99881172180175781f), one = hn::Set(d, 1.0f);
  V z[N], square[N], top[N], bottom[N];
  for (size_t i = 0; i < N; ++i) z[i] = hn::Min(hn::Max(x[i], hn::Neg(end)), end);
  for (size_t i = 0; i < N; ++i) square[i] = hn::Mul(z[i], z[i]);
  Horner(d, square, kBottom, bottom);
  Horner(d, square, kTop, top);
  for (size_t i = 0; i < N; ++i) {
    const V y = hn::Mul(hn::Mul(z[i], top[i]), Reciprocal(d, bottom[i]));
    x[i] = hn::IfThenElse(hn::IsNaN(x[i]), x[i], hn::Min(hn::Max(y, hn::Neg(one)), one));
  }
}
template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  V y[] = {x};
  Tanh(d, y);
  return y[0];
}

/// erf(x) of each, within 5 units in the last place; NaN becomes any number. One rational function
/// instead of two ranges and an exponential: half the instructions.
template <class D, class V, size_t N>
HWY_INLINE void ErfOfNumbers(D d, V (&x)[N]) {
  // erf(x) = x * P(x^2) / Q(x^2) where erf(x) is not 1 yet: Eigen's minimax fit.
  constexpr float kTop[] = {1.1283791065f,     0.18741607666f,     0.052433021367f,
                            0.00365804834291f, 0.000286197959213f, 2.12373220165e-6f};
  constexpr float kBottom[] = {1.0f,           0.499425798655f,  0.112945675850f,
                               0.01475208811f, 0.0011432960164f, 3.89185734093e-5f};
  const V end = hn::Set(d, 3.832506856900711f);
  V square[N], top[N], bottom[N];
  for (V& one : x) one = hn::Min(hn::Max(one, hn::Neg(end)), end);
  for (size_t i = 0; i < N; ++i) square[i] = hn::Mul(x[i], x[i]);
  Horner(d, square, kBottom, bottom);
  Horner(d, square, kTop, top);
  for (size_t i = 0; i < N; ++i) x[i] = hn::Mul(hn::Mul(x[i], top[i]), Reciprocal(d, bottom[i]));
}

template <class D, class V, size_t N>
HWY_INLINE void Erf(D d, V (&x)[N]) {
  const V one = hn::Set(d, 1.0f);
  V y[N];
  std::copy_n(x, N, y);
  ErfOfNumbers(d, y);
  for (size_t i = 0; i < N; ++i) {
    const V bounded = hn::Min(hn::Max(y[i], hn::Neg(one)), one);
    x[i] = hn::IfThenElse(hn::IsNaN(x[i]), x[i], bounded);
  }
}

/// x * Phi(x) of each, Phi being the normal distribution; absolute error below 2.5e-7 * max(1,
/// |x|).
template <class D, class V, size_t N>
HWY_INLINE void GeluErf(D d, V (&x)[N]) {
  const V half = hn::Set(d, 0.5f);
  V erf[N];
  for (size_t i = 0; i < N; ++i) erf[i] = hn::Mul(x[i], hn::Set(d, 0.70710678118f));
  ErfOfNumbers(d, erf);
  for (size_t i = 0; i < N; ++i) {
    const V y = hn::Mul(x[i], hn::MulAdd(half, erf[i], half));
    // Also -infinity, whose product with 0 is NaN.
    x[i] = hn::IfThenZeroElse(hn::Lt(x[i], hn::Set(d, -6.0f)), y);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
