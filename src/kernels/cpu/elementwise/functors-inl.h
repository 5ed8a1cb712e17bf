// What each instruction does to a vector. Included once per SIMD target.
#if defined(FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_
#undef FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_
#else
#define FETTLE_KERNELS_CPU_ELEMENTWISE_FUNCTORS_INL_H_
#endif

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

template <OpCode code>
struct Unary {
  const Instruction& in;

  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    if constexpr (code == OpCode::kAbs) return hn::Abs(x);
    if constexpr (code == OpCode::kNeg) return hn::Neg(x);
    if constexpr (code == OpCode::kFloor) return hn::Floor(x);
    if constexpr (code == OpCode::kCeil) return hn::Ceil(x);
    if constexpr (code == OpCode::kRound) return hn::Round(x);
    if constexpr (code == OpCode::kTrunc) return hn::Trunc(x);
    if constexpr (code == OpCode::kSign) {
      const V zero = hn::Zero(d), one = hn::Set(d, 1.0f);
      const V y = hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), ZeroOne(d, hn::Lt(zero, x)));
      return hn::IfThenElse(hn::IsNaN(x), x, y);
    }
    if constexpr (code == OpCode::kSqrt) return hn::Sqrt(x);
    if constexpr (code == OpCode::kReciprocal) return hn::Div(hn::Set(d, 1.0f), x);
    if constexpr (code == OpCode::kExp) return Exp(d, x);
    if constexpr (code == OpCode::kLog) return Log(d, x);
    if constexpr (code == OpCode::kErf) return Erf(d, x);
    if constexpr (code == OpCode::kTanh) return Tanh(d, x);
    if constexpr (code == OpCode::kSigmoid) return Sigmoid(d, x);
    if constexpr (code == OpCode::kSin) return SinOrCos(d, x, 0);
    if constexpr (code == OpCode::kCos) return SinOrCos(d, x, 1);
    if constexpr (code == OpCode::kRelu) return AtLeast(d, x, 0.0f);
    return Activation(d, x);
  }

 private:
  template <class D, class V>
  HWY_INLINE V Activation(D d, V x) const {
    const V zero = hn::Zero(d), one = hn::Set(d, 1.0f);
    if constexpr (code == OpCode::kLeakyRelu) {
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, hn::Set(d, in.p0)), x);
    }
    if constexpr (code == OpCode::kElu) {
      const V below =
          hn::Mul(Expm1(d, hn::Mul(AtMost(d, x, 0.0f), hn::Set(d, in.p1))), hn::Set(d, in.p0));
      return hn::Mul(hn::IfThenElse(hn::Lt(zero, x), x, below), hn::Set(d, in.p2));
    }
    if constexpr (code == OpCode::kHardSigmoid) {
      return AtMost(d, AtLeast(d, hn::MulAdd(x, hn::Set(d, in.p0), hn::Set(d, in.p1)), 0.0f), 1.0f);
    }
    if constexpr (code == OpCode::kHardSwish) {
      const V sixth = hn::Set(d, 1.0f / 6.0f), half = hn::Set(d, 0.5f);
      return hn::Mul(x, AtMost(d, AtLeast(d, hn::MulAdd(x, sixth, half), 0.0f), 1.0f));
    }
    if constexpr (code == OpCode::kSwish) {
      return hn::Mul(x, Sigmoid(d, hn::Mul(x, hn::Set(d, in.p0))));
    }
    if constexpr (code == OpCode::kMish) {
      // tanh(log(1 + e^x)) = n / (n + 2), n = e^x (e^x + 2); beyond 20 the quotient rounds to 1.
      const V e = Exp(d, AtMost(d, x, 20.0f));
      const V n = hn::Mul(e, hn::Add(e, hn::Set(d, 2.0f)));
      return hn::Mul(AtLeast(d, x, -200.0f), hn::Div(n, hn::Add(n, hn::Set(d, 2.0f))));
    }
    if constexpr (code == OpCode::kSoftplus) {
      return hn::Add(AtLeast(d, x, 0.0f), Log1pUnit(d, Exp(d, hn::Neg(hn::Abs(x)))));
    }
    if constexpr (code == OpCode::kSoftsign) return hn::Div(x, hn::Add(one, hn::Abs(x)));
    if constexpr (code == OpCode::kThreshold) {
      return hn::IfThenZeroElse(hn::Le(x, hn::Set(d, in.p0)), x);
    }
    if constexpr (code == OpCode::kGeluErf) return GeluErf(d, x);
    if constexpr (code == OpCode::kGeluTanh) {
      // x Phi(x) ~ x / (1 + e^(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3): no cancellation.
      const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f), one);
      const V u = hn::Mul(hn::Mul(x, cubic), hn::Set(d, 1.5957691216f));
      return hn::Mul(AtLeast(d, x, -200.0f), Sigmoid(d, u));
    }
    return Logic(d, x);
  }

  template <class D, class V>
  HWY_INLINE V Logic(D d, V x) const {
    if constexpr (code == OpCode::kNot) return ZeroOne(d, hn::Eq(x, hn::Zero(d)));
    if constexpr (code == OpCode::kIsNaN) return ZeroOne(d, hn::IsNaN(x));
    if constexpr (code == OpCode::kIsInf) {
      const V infinity = hn::Set(d, INFINITY);
      const V negative = hn::IfThenElseZero(hn::Eq(x, hn::Neg(infinity)), hn::Set(d, in.p0));
      return hn::Or(negative, hn::IfThenElseZero(hn::Eq(x, infinity), hn::Set(d, in.p1)));
    }
    if constexpr (code == OpCode::kClip) return AtMost(d, AtLeast(d, x, in.p0), in.p1);
    if constexpr (code == OpCode::kToInt) {
      const V whole = hn::Trunc(AtMost(d, AtLeast(d, x, in.p0), in.p1));
      return hn::IfThenZeroElse(hn::IsNaN(x), whole);
    }
    if constexpr (code == OpCode::kToBool) return ZeroOne(d, NonZero(d, x));
    return x;
  }
};

template <OpCode code>
struct Binary {
  const Instruction& in;

  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    if constexpr (code == OpCode::kAdd) return hn::Add(a, b);
    if constexpr (code == OpCode::kSub) return hn::Sub(a, b);
    if constexpr (code == OpCode::kMul) return hn::Mul(a, b);
    if constexpr (code == OpCode::kDiv) return hn::Div(a, b);
    if constexpr (code == OpCode::kMax) {
      return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(a)), a, b);
    }
    if constexpr (code == OpCode::kMin) {
      return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
    }
    if constexpr (code == OpCode::kPRelu) {
      return hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Mul(a, b), a);
    }
    if constexpr (code == OpCode::kEqual) return ZeroOne(d, hn::Eq(a, b));
    if constexpr (code == OpCode::kLess) return ZeroOne(d, hn::Lt(a, b));
    if constexpr (code == OpCode::kLessOrEqual) return ZeroOne(d, hn::Le(a, b));
    if constexpr (code == OpCode::kAnd) return ZeroOne(d, hn::And(NonZero(d, a), NonZero(d, b)));
    if constexpr (code == OpCode::kOr) return ZeroOne(d, hn::Or(NonZero(d, a), NonZero(d, b)));
    if constexpr (code == OpCode::kXor) return ZeroOne(d, hn::Xor(NonZero(d, a), NonZero(d, b)));
  }
};

template <OpCode code>
struct Ternary {
  const Instruction& in;

  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b, V c) const {
    if constexpr (code == OpCode::kMulAdd) return hn::MulAdd(a, b, c);
    if constexpr (code == OpCode::kWhere) return hn::IfThenElse(NonZero(d, a), b, c);
    if constexpr (code == OpCode::kClip3) {
      const V low = hn::IfThenElse(hn::Lt(a, b), b, a);
      return hn::IfThenElse(hn::Lt(c, low), c, low);
    }
    if constexpr (code == OpCode::kQuantise) {
      const V y = hn::Add(hn::Round(hn::Div(a, b)), c);
      return AtMost(d, AtLeast(d, y, in.p0), in.p1);
    }
    if constexpr (code == OpCode::kDequantise) return hn::Mul(hn::Sub(a, b), c);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
