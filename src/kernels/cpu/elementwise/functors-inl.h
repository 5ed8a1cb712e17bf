// What each function does to vectors. Included once per SIMD target.
#if defined(FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_
#undef FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_
#else
#define FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_
#endif

#include <cmath>

#include "kernels/cpu/elementwise/instruction.h"
#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {

using namespace ::fettle::kernels::HWY_NAMESPACE;  // NOLINT: the vector functions of this target

// Comparisons with a bound are written so that NaN passes through.
template <class D, class V>
HWY_INLINE V AtLeast(D d, V x, float bound) {
  const V b = hn::Set(d, bound);
  return hn::IfThenElse(hn::Lt(x, b), b, x);
}
template <class D, class V>
HWY_INLINE V AtMost(D d, V x, float bound) {
  const V b = hn::Set(d, bound);
  return hn::IfThenElse(hn::Lt(b, x), b, x);
}
template <class D, class M>
HWY_INLINE hn::Vec<D> ZeroOne(D d, M mask) {
  return hn::IfThenElseZero(mask, hn::Set(d, 1.0f));
}
template <class D, class V>
HWY_INLINE auto NonZero(D d, V x) {
  return hn::Ne(x, hn::Zero(d));
}

/// alpha (e^(factor x) - 1) below 0; `scale` times the whole.
template <class D, class V>
HWY_INLINE V Elu(D d, V x, float alpha, float factor, float scale) {
  const V below =
      hn::Mul(Expm1(d, hn::Mul(AtMost(d, x, 0.0f), hn::Set(d, factor))), hn::Set(d, alpha));
  return hn::Mul(hn::IfThenElse(hn::Lt(hn::Zero(d), x), x, below), hn::Set(d, scale));
}
template <class D, class V>
HWY_INLINE V HardSigmoid(D d, V x, float alpha, float beta) {
  return AtMost(d, AtLeast(d, hn::MulAdd(x, hn::Set(d, alpha), hn::Set(d, beta)), 0.0f), 1.0f);
}
template <class D, class V, size_t N>
HWY_INLINE void Swish(D d, V (&x)[N], float factor) {
  V y[N];
  for (size_t i = 0; i < N; ++i) y[i] = hn::Mul(x[i], hn::Set(d, factor));
  SigmoidOfNumbers(d, y);
  for (size_t i = 0; i < N; ++i) x[i] = hn::Mul(x[i], y[i]);
}
template <class D, class V>
HWY_INLINE V Mish(D d, V x) {
  // tanh(log(1 + e^x)) = n / (n + 2), n = e^x (e^x + 2); beyond 20 the quotient rounds to 1.
  const V e = Exp(d, AtMost(d, x, 20.0f));
  const V n = hn::Mul(e, hn::Add(e, hn::Set(d, 2.0f)));
  return hn::Mul(AtLeast(d, x, -200.0f), hn::Div(n, hn::Add(n, hn::Set(d, 2.0f))));
}
template <class D, class V>
HWY_INLINE V GeluTanh(D d, V x) {
  // x Phi(x) ~ x / (1 + e^(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3): no cancellation.
  const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f), hn::Set(d, 1.0f));
  const V u = hn::Mul(hn::Mul(x, cubic), hn::Set(d, 1.5957691216f));
  return hn::Mul(AtLeast(d, x, -200.0f), Sigmoid(d, u));
}
template <class D, class V>
HWY_INLINE V Shrink(D d, V x, float limit, float bias) {
  const V l = hn::Set(d, limit), b = hn::Set(d, bias);
  const V above = hn::IfThenElseZero(hn::Lt(l, x), hn::Sub(x, b));
  const V y = hn::IfThenElse(hn::Lt(x, hn::Neg(l)), hn::Add(x, b), above);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}
template <class D, class V>
HWY_INLINE V Sign(D d, V x) {
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  const V y = hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), ZeroOne(d, hn::Lt(zero, x)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}
template <class D, class V>
HWY_INLINE V IsInf(D d, V x, float negative, float positive) {
  const V infinity = hn::Set(d, INFINITY);
  const V below = hn::IfThenElseZero(hn::Eq(x, hn::Neg(infinity)), hn::Set(d, negative));
  return hn::Or(below, hn::IfThenElseZero(hn::Eq(x, infinity), hn::Set(d, positive)));
}
template <class D, class V>
HWY_INLINE V ToInt(D d, V x, float least, float greatest) {
  return hn::IfThenZeroElse(hn::IsNaN(x), hn::Trunc(AtMost(d, AtLeast(d, x, least), greatest)));
}
/// NaN becomes `least`.
template <class D, class V>
HWY_INLINE V Within(D d, V x, float least, float greatest) {
  const V low = hn::Set(d, least);
  return hn::IfThenElse(hn::Lt(low, x), AtMost(d, x, greatest), low);
}
template <class V>
HWY_INLINE V Clip(V x, V least, V greatest) {
  const V low = hn::IfThenElse(hn::Lt(x, least), least, x);
  return hn::IfThenElse(hn::Lt(greatest, low), greatest, low);
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
/// The remainder with the sign of the divisor.
inline double Modulo(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return (r < 0) != (b < 0) && !std::isnan(r) ? r + b : r;
}

/// The functor of a row of fn.inc, of as many operands as it has: of vectors, or, where there is no
/// vector form, of single elements.
template <Fn fn>
struct Functor;
#define FETTLE_FUNCTOR(name, operands, ...)                                  \
  template <>                                                                \
  struct Functor<Fn::k##name> {                                              \
    static constexpr bool kIsScalar = false, kIsOfSeveral = false;           \
    [[maybe_unused]] const Instruction& in;                                  \
    template <class D, class V>                                              \
    HWY_INLINE V operator()([[maybe_unused]] D d, FETTLE_##operands) const { \
      return __VA_ARGS__;                                                    \
    }                                                                        \
  };
#define FETTLE_SCALAR(name, operands, ...)                        \
  template <>                                                     \
  struct Functor<Fn::k##name> {                                   \
    static constexpr bool kIsScalar = true, kIsOfSeveral = false; \
    using V = double;                                             \
    [[maybe_unused]] const Instruction& in;                       \
    V operator()(FETTLE_##operands) const { return __VA_ARGS__; } \
  };
/// Of kTogether vectors at a time, which the statement changes in place.
#define FETTLE_SEVERAL(name, ...)                                 \
  template <>                                                     \
  struct Functor<Fn::k##name> {                                   \
    static constexpr bool kIsScalar = false, kIsOfSeveral = true; \
    [[maybe_unused]] const Instruction& in;                       \
    template <class D, class V, size_t N>                         \
    HWY_INLINE void All(D d, V (&a)[N]) const {                   \
      __VA_ARGS__;                                                \
    }                                                             \
    template <class D, class V>                                   \
    HWY_INLINE V operator()(D d, V a) const {                     \
      V one[] = {a};                                              \
      All(d, one);                                                \
      return one[0];                                              \
    }                                                             \
  };
#define FETTLE_A V a
#define FETTLE_AB V a, V b
#define FETTLE_ABC V a, V b, V c

FETTLE_FUNCTOR(Abs, A, hn::Abs(a))
FETTLE_FUNCTOR(Acos, A, Acos(d, a))
FETTLE_SCALAR(Acosh, A, std::acosh(a))
FETTLE_FUNCTOR(Asin, A, Asin(d, a))
FETTLE_SCALAR(Asinh, A, std::asinh(a))
FETTLE_FUNCTOR(Atan, A, Atan(d, a))
FETTLE_SCALAR(Atanh, A, std::atanh(a))
FETTLE_FUNCTOR(Ceil, A, hn::Ceil(a))
FETTLE_FUNCTOR(Copy, A, a)
FETTLE_FUNCTOR(Cos, A, SinOrCos(d, a, 1))
FETTLE_SCALAR(Cosh, A, std::cosh(a))
FETTLE_FUNCTOR(Elu, A, Elu(d, a, in.p0, in.p1, in.p2))
FETTLE_FUNCTOR(Erf, A, Erf(d, a))
FETTLE_FUNCTOR(Exp, A, Exp(d, a))
FETTLE_FUNCTOR(Floor, A, hn::Floor(a))
FETTLE_SEVERAL(GeluErf, GeluErf(d, a))
FETTLE_FUNCTOR(GeluTanh, A, GeluTanh(d, a))
FETTLE_FUNCTOR(HardSigmoid, A, HardSigmoid(d, a, in.p0, in.p1))
FETTLE_FUNCTOR(HardSwish, A, hn::Mul(a, HardSigmoid(d, a, 1.0f / 6.0f, 0.5f)))
FETTLE_FUNCTOR(IsInf, A, IsInf(d, a, in.p0, in.p1))
FETTLE_FUNCTOR(IsNaN, A, ZeroOne(d, hn::IsNaN(a)))
FETTLE_FUNCTOR(LeakyRelu, A,
               hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Mul(a, hn::Set(d, in.p0)), a))
FETTLE_FUNCTOR(Log, A, Log(d, a))
FETTLE_FUNCTOR(Mish, A, Mish(d, a))
FETTLE_FUNCTOR(Neg, A, hn::Neg(a))
FETTLE_FUNCTOR(Not, A, ZeroOne(d, hn::Eq(a, hn::Zero(d))))
FETTLE_FUNCTOR(Reciprocal, A, hn::Div(hn::Set(d, 1.0f), a))
FETTLE_FUNCTOR(Relu, A, AtLeast(d, a, 0.0f))
FETTLE_FUNCTOR(Round, A, hn::Round(a))
FETTLE_FUNCTOR(Shrink, A, Shrink(d, a, in.p0, in.p1))
FETTLE_SEVERAL(Sigmoid, Sigmoid(d, a))
FETTLE_FUNCTOR(Sign, A, Sign(d, a))
FETTLE_FUNCTOR(Sin, A, SinOrCos(d, a, 0))
FETTLE_SCALAR(Sinh, A, std::sinh(a))
FETTLE_FUNCTOR(Softplus, A, hn::Add(AtLeast(d, a, 0.0f), Log1pUnit(d, Exp(d, hn::Neg(hn::Abs(a))))))
FETTLE_FUNCTOR(Softsign, A, hn::Div(a, hn::Add(hn::Set(d, 1.0f), hn::Abs(a))))
FETTLE_FUNCTOR(Sqrt, A, hn::Sqrt(a))
FETTLE_SEVERAL(Swish, Swish(d, a, in.p0))
FETTLE_SCALAR(Tan, A, std::tan(a))
FETTLE_FUNCTOR(Tanh, A, Tanh(d, a))
FETTLE_FUNCTOR(ThresholdedRelu, A, hn::IfThenZeroElse(hn::Le(a, hn::Set(d, in.p0)), a))
FETTLE_FUNCTOR(ToBool, A, ZeroOne(d, NonZero(d, a)))
FETTLE_FUNCTOR(ToInt, A, ToInt(d, a, in.p0, in.p1))

FETTLE_FUNCTOR(Add, AB, hn::Add(a, b))
FETTLE_FUNCTOR(And, AB, ZeroOne(d, hn::And(NonZero(d, a), NonZero(d, b))))
FETTLE_FUNCTOR(Div, AB, hn::Div(a, b))
FETTLE_FUNCTOR(Equal, AB, ZeroOne(d, hn::Eq(a, b)))
FETTLE_SCALAR(Fmod, AB, std::fmod(a, b))
FETTLE_FUNCTOR(Greater, AB, ZeroOne(d, hn::Lt(b, a)))
FETTLE_FUNCTOR(GreaterOrEqual, AB, ZeroOne(d, hn::Le(b, a)))
FETTLE_FUNCTOR(Less, AB, ZeroOne(d, hn::Lt(a, b)))
FETTLE_FUNCTOR(LessOrEqual, AB, ZeroOne(d, hn::Le(a, b)))
FETTLE_FUNCTOR(Max, AB, hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(a)), a, b))
FETTLE_FUNCTOR(Min, AB, hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b))
FETTLE_SCALAR(Modulo, AB, elementwise::HWY_NAMESPACE::Modulo(a, b))
FETTLE_FUNCTOR(Mul, AB, hn::Mul(a, b))
FETTLE_FUNCTOR(Or, AB, ZeroOne(d, hn::Or(NonZero(d, a), NonZero(d, b))))
FETTLE_FUNCTOR(PRelu, AB, hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Mul(a, b), a))
FETTLE_SCALAR(Pow, AB, std::pow(static_cast<float>(a), static_cast<float>(b)))
FETTLE_FUNCTOR(Sub, AB, hn::Sub(a, b))
FETTLE_FUNCTOR(Xor, AB, ZeroOne(d, hn::Xor(NonZero(d, a), NonZero(d, b))))

FETTLE_FUNCTOR(Clip, ABC, Clip(a, b, c))
FETTLE_FUNCTOR(Dequantise, ABC, hn::Mul(hn::Sub(a, b), c))
FETTLE_FUNCTOR(MulAdd, ABC, hn::MulAdd(a, b, c))
FETTLE_FUNCTOR(Quantise, ABC, Within(d, hn::Add(hn::Round(hn::Div(a, b)), c), in.p0, in.p1))
FETTLE_FUNCTOR(Where, ABC, hn::IfThenElse(NonZero(d, a), b, c))

#undef FETTLE_FUNCTOR
#undef FETTLE_SCALAR
#undef FETTLE_SEVERAL
#undef FETTLE_A
#undef FETTLE_AB
#undef FETTLE_ABC

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
