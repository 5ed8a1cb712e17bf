// Trigonometric and hyperbolic functions on vectors of float, and their inverses. Included once per
// SIMD target, as math-inl.h.
#if defined(FETTLE_KERNELS_CPU_SIMD_TRIGONOMETRY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_SIMD_TRIGONOMETRY_INL_H_
#undef FETTLE_KERNELS_CPU_SIMD_TRIGONOMETRY_INL_H_
#else
#define FETTLE_KERNELS_CPU_SIMD_TRIGONOMETRY_INL_H_
#endif

#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// Sine and cosine of what is left of x behind the nearest multiple of pi / 2, which is returned;
/// |x| <= 8192.
template <class D, class V>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> SinAndCos(D d, V x, V& sin, V& cos) {
  const V q = hn::Round(hn::Mul(x, hn::Set(d, 0.636619772368f)));
  // pi / 2 in three parts of few bits: their products with q are exact.
  V r = hn::NegMulAdd(q, hn::Set(d, 1.5703125f), x);
  r = hn::NegMulAdd(q, hn::Set(d, 4.837512969970703125e-4f), r);
  r = hn::NegMulAdd(q, hn::Set(d, 7.549789948768648e-8f), r);
  const V r2 = hn::Mul(r, r);
  // (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4, in r^2
  constexpr float kSin[] = {-0.166666666636f, 0.00833333178522f, -0.000198400388726f,
                            2.72437814095e-6f};
  constexpr float kCos[] = {0.0416666666641f, -0.00138888875973f, 2.48005604299e-5f,
                            -2.72958308276e-7f};
  sin = hn::MulAdd(hn::Mul(hn::Mul(Horner(d, r2, kSin), r2), r), hn::Set(d, 1.0f), r);
  cos = hn::MulAdd(hn::Mul(Horner(d, r2, kCos), r2), r2,
                   hn::NegMulAdd(r2, hn::Set(d, 0.5f), hn::Set(d, 1.0f)));
  return hn::ConvertTo(hn::RebindToSigned<D>(), q);
}

/// The lanes where a bit of an integer is set.
template <class D, class VI>
HWY_INLINE hn::Mask<D> HasBit(D d, VI x, int bit) {
  const hn::RebindToSigned<D> di;
  return hn::RebindMask(d, hn::Ne(hn::And(x, hn::Set(di, bit)), hn::Zero(di)));
}

/// sin(x + quadrants * pi / 2) for |x| <= 8192.
template <class D, class V>
HWY_INLINE V SinReduced(D d, V x, int quadrants) {
  V sin, cos;
  const auto q = SinAndCos(d, x, sin, cos);
  const auto quadrant = hn::Add(q, hn::Set(hn::RebindToSigned<D>(), quadrants));
  const V y = hn::IfThenElse(HasBit(d, quadrant, 1), cos, sin);
  return hn::IfThenElse(HasBit(d, quadrant, 2), hn::Neg(y), y);
}
template <class D, class V>
HWY_INLINE V TanReduced(D d, V x) {
  V sin, cos;
  const auto odd = HasBit(d, SinAndCos(d, x, sin, cos), 1);
  return hn::Div(hn::IfThenElse(odd, hn::Neg(cos), sin), hn::IfThenElse(odd, sin, cos));
}

/// `reduced` of x, and `scalar` of elements beyond 8192 and NaN.
template <class D, class V, class F, class G>
HWY_INLINE V WhereReduced(D d, V x, const F& reduced, const G& scalar) {
  const auto large = hn::Not(hn::Le(hn::Abs(x), hn::Set(d, 8192.0f)));
  const V y = reduced(hn::IfThenZeroElse(large, x));
  if (HWY_LIKELY(hn::AllFalse(d, large))) return y;
  HWY_ALIGN float in[hn::MaxLanes(d)], out[hn::MaxLanes(d)];
  hn::Store(x, d, in);
  for (size_t i = 0; i < hn::Lanes(d); ++i) out[i] = scalar(in[i]);
  return hn::IfThenElse(large, hn::Load(d, out), y);
}
template <class D, class V>
HWY_INLINE V SinOrCos(D d, V x, int quadrants) {
  return WhereReduced(
      d, x, [&](V r) HWY_ATTR { return SinReduced(d, r, quadrants); },
      [&](float one) { return quadrants == 0 ? ::sinf(one) : ::cosf(one); });
}
template <class D, class V>
HWY_INLINE V Tan(D d, V x) {
  return WhereReduced(
      d, x, [&](V r) HWY_ATTR { return TanReduced(d, r); }, [](float one) { return ::tanf(one); });
}

/// What acos and asin share: the arc sine of s, which is |x| up to 1/2, otherwise the root of
/// (1 - |x|) / 2; NaN beyond 1. The polynomial is (asin(s) - s) / s^3 in s^2, fitted for this
/// range.
template <class D, class V>
HWY_INLINE V HalfArcSine(D d, V a, hn::Mask<D> is_small) {
  constexpr float kQuotient[] = {0.166666731f, 0.0749876201f, 0.0450202115f, 0.0264333934f,
                                 0.0383282453f};
  const V half = hn::Set(d, 0.5f);
  const V z = hn::IfThenElse(is_small, hn::Mul(a, a), hn::NegMulAdd(a, half, half));
  const V s = hn::IfThenElse(is_small, a, hn::Sqrt(z));
  return hn::MulAdd(hn::Mul(s, z), Horner(d, z, kQuotient), s);
}
template <class D, class V>
HWY_INLINE V Asin(D d, V x) {
  const V a = hn::Abs(x);
  const auto is_small = hn::Le(a, hn::Set(d, 0.5f));
  const V p = HalfArcSine(d, a, is_small);
  const V rest = hn::NegMulAdd(p, hn::Set(d, 2.0f), hn::Set(d, 1.57079632679f));
  return hn::CopySign(hn::IfThenElse(is_small, p, rest), x);
}
template <class D, class V>
HWY_INLINE V Acos(D d, V x) {
  const V a = hn::Abs(x);
  const auto is_small = hn::Le(a, hn::Set(d, 0.5f));
  const V p = HalfArcSine(d, a, is_small);
  const V twice = hn::Add(p, p);
  const V rest =
      hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 3.14159265359f), twice), twice);
  return hn::IfThenElse(is_small, hn::Sub(hn::Set(d, 1.57079632679f), hn::CopySign(p, x)), rest);
}
/// By the arc tangent of 1 / x beyond 1; the polynomial is (atan(t) - t) / t^3 in t^2, fitted for
/// t <= 1.
template <class D, class V>
HWY_INLINE V Atan(D d, V x) {
  constexpr float kQuotient[] = {-0.333333313f,  0.199997902f,   -0.142796159f,
                                 0.110420354f,   -0.0868904442f, 0.0631822075f,
                                 -0.0366702862f, 0.0139964838f,  -0.00250857649f};
  const V a = hn::Abs(x), one = hn::Set(d, 1.0f);
  const auto is_large = hn::Lt(one, a);
  const V t = hn::IfThenElse(is_large, hn::Div(one, a), a);
  const V z = hn::Mul(t, t);
  const V p = hn::MulAdd(hn::Mul(t, z), Horner(d, z, kQuotient), t);
  return hn::CopySign(hn::IfThenElse(is_large, hn::Sub(hn::Set(d, 1.57079632679f), p), p), x);
}
/// log(1 + u), also accurate near 0 (Kahan's correction of the rounded sum).
template <class D, class V>
HWY_INLINE V Log1p(D d, V u) {
  const V one = hn::Set(d, 1.0f);
  const V sum = hn::Add(u, one), rounded = hn::Sub(sum, one);
  const V y = Log(d, sum);
  const V corrected = hn::Mul(y, hn::Div(u, rounded));
  const V near = hn::IfThenElse(hn::Eq(rounded, hn::Zero(d)), u, corrected);
  return hn::IfThenElse(hn::Lt(u, hn::Set(d, 1e9f)), near, y);
}

template <class D, class V>
HWY_INLINE V Sinh(D d, V x) {
  const V a = hn::Abs(x);
  const V t = Expm1(d, hn::Min(a, hn::Set(d, 1.0f)));
  const V near = hn::Mul(hn::Set(d, 0.5f), hn::Add(t, hn::Div(t, hn::Add(t, hn::Set(d, 1.0f)))));
  const V half = Exp(d, a, 1);
  const V far = hn::Sub(half, hn::Div(hn::Set(d, 0.25f), half));
  const V y = hn::IfThenElse(hn::Lt(a, hn::Set(d, 1.0f)), near, far);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(y, x));
}
template <class D, class V>
HWY_INLINE V Cosh(D d, V x) {
  const V half = Exp(d, hn::Abs(x), 1);
  return hn::Add(half, hn::Div(hn::Set(d, 0.25f), half));
}

/// log(2 x) where x is large, whose square is no number; otherwise log(1 + u).
template <class D, class V>
HWY_INLINE V InverseHyperbolic(D d, V x, V u) {
  const auto large = hn::Lt(hn::Set(d, 1e9f), x);
  const V y = Log1p(d, hn::IfThenElse(large, x, u));
  return hn::Add(y, hn::IfThenElseZero(large, hn::Set(d, 0.693147180560f)));
}
template <class D, class V>
HWY_INLINE V Asinh(D d, V x) {
  const V a = hn::Abs(x), one = hn::Set(d, 1.0f), square = hn::Mul(a, a);
  const V root = hn::Sqrt(hn::Add(square, one));
  const V y = InverseHyperbolic(d, a, hn::Add(a, hn::Div(square, hn::Add(root, one))));
  return hn::CopySign(y, x);
}
template <class D, class V>
HWY_INLINE V Acosh(D d, V x) {
  const V one = hn::Set(d, 1.0f), t = hn::Sub(x, one);
  const V root = hn::Sqrt(hn::Mul(t, hn::Add(t, hn::Set(d, 2.0f))));
  return hn::IfThenElse(hn::Lt(x, one), hn::Set(d, NAN), InverseHyperbolic(d, x, hn::Add(t, root)));
}
template <class D, class V>
HWY_INLINE V Atanh(D d, V x) {
  const V a = hn::Abs(x);
  const V y = Log1p(d, hn::Div(hn::Add(a, a), hn::Sub(hn::Set(d, 1.0f), a)));
  return hn::CopySign(hn::Mul(y, hn::Set(d, 0.5f)), x);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
