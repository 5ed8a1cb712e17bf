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

/// e^x; 0 and infinity beyond the range, NaN stays NaN.
template <class D, class V>
HWY_INLINE V Exp(D d, V x) {
  const V clamped = hn::Min(hn::Max(x, hn::Set(d, -104.0f)), hn::Set(d, 89.0f));
  hn::Vec<hn::RebindToSigned<D>> n;
  const V m = ExpParts(d, clamped, n);
  // Two factors: 2^n alone may be subnormal or past the largest finite number.
  const auto half = hn::ShiftRight<1>(n);
  const V y = hn::Mul(hn::Mul(hn::Add(m, hn::Set(d, 1.0f)), PowerOfTwo(d, half)),
                      PowerOfTwo(d, hn::Sub(n, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
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

/// log(1 + u) for u in [0, 1], also accurate near 0 (Kahan's correction of the rounded sum).
template <class D, class V>
HWY_INLINE V Log1pUnit(D d, V u) {
  const V one = hn::Set(d, 1.0f);
  const V sum = hn::Add(u, one);
  const V rounded = hn::Sub(sum, one);
  const V y = hn::Mul(Log(d, sum), hn::Div(u, rounded));
  return hn::IfThenElse(hn::Eq(rounded, hn::Zero(d)), u, y);
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
  // e^-x = 2^n e^r. A sum with 1.5 * 2^23 is whole, and holds n in its lowest bits.
  const V whole = hn::Set(d, 12582912.0f);
  for (size_t i = 0; i < N; ++i) n[i] = hn::MulAdd(clamped[i], hn::Set(d, -1.44269504089f), whole);
  for (size_t i = 0; i < N; ++i)
    r[i] = hn::NegMulSub(hn::Sub(n[i], whole), hn::Set(d, 0.693359375f), clamped[i]);
  for (size_t i = 0; i < N; ++i)
    r[i] = hn::NegMulAdd(hn::Sub(n[i], whole), hn::Set(d, -2.12194440055e-4f), r[i]);
  // e^r on |r| <= ln(2) / 2
  constexpr float kPower[] = {1.0f,
                              1.0f,
                              0.499999940395f,
                              0.16666431725f,
                              0.0416680015624f,
                              0.00837415549904f,
                              0.00138436537236f};
  Horner(d, r, kPower, power);
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

template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  const V a = hn::Min(hn::Abs(x), hn::Set(d, 10.0f));  // tanh(10) rounds to 1
  const V t = Expm1(d, hn::Add(a, a));
  const V y = hn::CopySign(hn::Div(t, hn::Add(t, hn::Set(d, 2.0f))), x);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// erfc(a) for a in [0.98, 4], as e to a fitted power.
template <class D, class V>
HWY_INLINE V ErfcTail(D d, V a) {
  // -log(erfc(a))
  constexpr float kExponent[] = {-0.00032147102638f,  1.13023920142f,    0.631815699582f,
                                 0.110090197464f,     -0.0264270437721f, 0.00476171723581f,
                                 -0.000597264433142f, 4.61129139062e-5f, -1.63993801648e-6f};
  const V g = Horner(d, hn::Min(a, hn::Set(d, 4.0f)), kExponent);
  return Exp(d, hn::Neg(g));
}

/// erf(x) for |x| <= 1.
template <class D, class V>
HWY_INLINE V ErfCentre(D d, V x) {
  // erf(x) / x, in x^2
  constexpr float kQuotient[] = {1.12837916585f,    -0.376126266667f,  0.112835947152f,
                                 -0.0268542120106f, 0.00518908742343f, -0.000801686428717f,
                                 7.87587506269e-5f};
  return hn::Mul(x, Horner(d, hn::Mul(x, x), kQuotient));
}

template <class D, class V>
HWY_INLINE V Erf(D d, V x) {
  const V a = hn::Abs(x);
  const V tail = hn::CopySign(hn::Sub(hn::Set(d, 1.0f), ErfcTail(d, a)), x);
  const V y = hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.98f)), ErfCentre(d, x), tail);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
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

/// x * Phi(x) of each, Phi being the normal distribution; absolute error below 2.5e-7 * max(1,
/// |x|). Phi by one rational function instead of two ranges and an exponential: half the
/// instructions.
template <class D, class V, size_t N>
HWY_INLINE void GeluErf(D d, V (&x)[N]) {
  // erf(z) = z * P(z^2) / Q(z^2) where erf(z) is not 1 yet: XLA's minimax fit.
  constexpr float kTop[] = {1.128379143519084f, 0.18520832239976145f, 0.050955695062380861f,
                            0.0034082910107109506f, 0.00022905065861350646f};
  constexpr float kBottom[] = {1.0f,
                               0.49746925110067538f,
                               0.11098505178285362f,
                               0.014070470171167667f,
                               0.0010179625278914885f,
                               0.000023547966471313185f,
                               -1.1791602954361697e-7f};
  const V end = hn::Set(d, 3.7439211627767994f), half = hn::Set(d, 0.5f);
  V z[N], square[N], top[N], bottom[N];
  for (size_t i = 0; i < N; ++i)
    z[i] = hn::Min(hn::Max(hn::Mul(x[i], hn::Set(d, 0.70710678118f)), hn::Neg(end)), end);
  for (size_t i = 0; i < N; ++i) square[i] = hn::Mul(z[i], z[i]);
  Horner(d, square, kBottom, bottom);
  Horner(d, square, kTop, top);
  for (size_t i = 0; i < N; ++i) {
    const V erf = hn::Mul(hn::Mul(z[i], top[i]), Reciprocal(d, bottom[i]));
    const V y = hn::Mul(x[i], hn::MulAdd(half, erf, half));
    // Also -infinity, whose product with 0 is NaN.
    x[i] = hn::IfThenZeroElse(hn::Lt(x[i], hn::Set(d, -6.0f)), y);
  }
}

/// sin(x + quadrants * pi / 2) for |x| <= 8192.
template <class D, class V>
HWY_INLINE V SinReduced(D d, V x, int quadrants) {
  const hn::RebindToSigned<D> di;
  const V q = hn::Round(hn::Mul(x, hn::Set(d, 0.636619772368f)));
  // pi / 2 in three parts of few bits: their products with q are exact.
  V r = hn::NegMulAdd(q, hn::Set(d, 1.5703125f), x);
  r = hn::NegMulAdd(q, hn::Set(d, 4.837512969970703125e-4f), r);
  r = hn::NegMulAdd(q, hn::Set(d, 7.549789948768648e-8f), r);
  const auto quadrant = hn::Add(hn::ConvertTo(di, q), hn::Set(di, quadrants));
  const V r2 = hn::Mul(r, r);
  // (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4, in r^2
  constexpr float kSin[] = {-0.166666666636f, 0.00833333178522f, -0.000198400388726f,
                            2.72437814095e-6f};
  constexpr float kCos[] = {0.0416666666641f, -0.00138888875973f, 2.48005604299e-5f,
                            -2.72958308276e-7f};
  const V sin = hn::MulAdd(hn::Mul(hn::Mul(Horner(d, r2, kSin), r2), r), hn::Set(d, 1.0f), r);
  const V cos = hn::MulAdd(hn::Mul(Horner(d, r2, kCos), r2), r2,
                           hn::NegMulAdd(r2, hn::Set(d, 0.5f), hn::Set(d, 1.0f)));
  const auto one = hn::Set(di, 1), two = hn::Set(di, 2);
  const auto odd = hn::RebindMask(d, hn::Eq(hn::And(quadrant, one), one));
  const auto negative = hn::RebindMask(d, hn::Eq(hn::And(quadrant, two), two));
  const V y = hn::IfThenElse(odd, cos, sin);
  return hn::IfThenElse(negative, hn::Neg(y), y);
}

template <class D, class V>
HWY_INLINE V SinOrCos(D d, V x, int quadrants) {
  const auto large = hn::Not(hn::Le(hn::Abs(x), hn::Set(d, 8192.0f)));
  V y = SinReduced(d, hn::IfThenZeroElse(large, x), quadrants);
  if (HWY_LIKELY(hn::AllFalse(d, large))) return y;
  HWY_ALIGN float in[hn::MaxLanes(d)], out[hn::MaxLanes(d)];
  hn::Store(x, d, in);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    out[i] = quadrants == 0 ? ::sinf(in[i]) : ::cosf(in[i]);
  }
  return hn::IfThenElse(large, hn::Load(d, out), y);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
