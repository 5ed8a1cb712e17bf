// What each function does to vectors. Included once per SIMD target.
#if defined(FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_
#undef FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_
#else
#define FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_
#endif

#include <cmath>

#include "kernels/cpu/elementwise/instruction.h"
#include "kernels/cpu/simd/trigonometry-inl.h"

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
template <class D, class V>
HWY_INLINE V Quantise(D d, V quotient, V zero, float least, float greatest) {
  return Within(d, hn::Add(hn::Round(quotient), zero), least, greatest);
}
/// a / b as a division rounds it where it is at least 2^-20 and less than 2^20, and as far away
/// elsewhere: the quotient by `inverse`, 1 / b, is corrected by what is left of a (Markstein). Only
/// where multiply-adds are fused and IsInvertible(b).
template <class D, class V>
HWY_INLINE V QuotientBy(D d, V a, V b, V inverse) {
  const V q = hn::Mul(a, inverse);
  const V exact = hn::MulAdd(hn::NegMulAdd(q, b, a), inverse, q);
  return hn::IfThenElse(hn::Lt(hn::Abs(q), hn::Set(d, 0x1p20f)), exact, q);
}
/// Whether nothing underflows or overflows on the way.
inline bool IsInvertible(float b) {
  return HWY_NATIVE_FMA != 0 && std::abs(b) > 0x1p-60f && std::abs(b) < 0x1p60f;
}
template <class V>
HWY_INLINE V Clip(V x, V least, V greatest) {
  const V low = hn::IfThenElse(hn::Lt(x, least), least, x);
  return hn::IfThenElse(hn::Lt(greatest, low), greatest, low);
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
FETTLE_FUNCTOR(Acosh, A, Acosh(d, a))
FETTLE_FUNCTOR(Asin, A, Asin(d, a))
FETTLE_FUNCTOR(Asinh, A, Asinh(d, a))
FETTLE_FUNCTOR(Atan, A, Atan(d, a))
FETTLE_FUNCTOR(Atanh, A, Atanh(d, a))
FETTLE_FUNCTOR(Ceil, A, hn::Ceil(a))
FETTLE_FUNCTOR(Copy, A, a)
FETTLE_FUNCTOR(Cos, A, SinOrCos(d, a, 1))
FETTLE_FUNCTOR(Cosh, A, Cosh(d, a))
FETTLE_FUNCTOR(Elu, A, Elu(d, a, in.p0, in.p1, in.p2))
FETTLE_SEVERAL(Erf, Erf(d, a))
FETTLE_SEVERAL(Exp, Exp(d, a))
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
FETTLE_FUNCTOR(Sinh, A, Sinh(d, a))
FETTLE_FUNCTOR(Softplus, A, hn::Add(AtLeast(d, a, 0.0f), Log1p(d, Exp(d, hn::Neg(hn::Abs(a))))))
FETTLE_FUNCTOR(Softsign, A, hn::Div(a, hn::Add(hn::Set(d, 1.0f), hn::Abs(a))))
FETTLE_FUNCTOR(Sqrt, A, hn::Sqrt(a))
FETTLE_SEVERAL(Swish, Swish(d, a, in.p0))
FETTLE_FUNCTOR(Tan, A, Tan(d, a))
FETTLE_SEVERAL(Tanh, Tanh(d, a))
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
FETTLE_FUNCTOR(Quantise, ABC, Quantise(d, hn::Div(a, b), c, in.p0, in.p1))
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
