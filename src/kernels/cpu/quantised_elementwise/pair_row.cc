// compiled: unfused
#include "kernels/cpu/quantised_elementwise/pair_row.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised_elementwise/pair_row.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::RebindToSigned<F>;
using B = hn::Rebind<uint8_t, F>;
using VF = hn::Vec<F>;
using VB = hn::Vec<B>;
constexpr int64_t kLanes = HWY_LANES(float);

struct Add {
  HWY_INLINE VF operator()(VF a, VF b) const { return hn::Add(a, b); }
};
struct Mul {
  HWY_INLINE VF operator()(VF a, VF b) const { return hn::Mul(a, b); }
};

/// Bytes to the numbers that they stand for.
struct Dequantiser {
  explicit Dequantiser(const ByteOperand& type)
      : flip(hn::Set(B(), type.flip)),
        zero(hn::Set(F(), type.zero)),
        scale(hn::Set(F(), type.scale)) {}
  HWY_INLINE VF operator()(VB x) const {
    const auto steps = hn::ConvertTo(F(), hn::PromoteTo(I(), hn::Xor(x, flip)));
    return hn::Mul(hn::Sub(steps, zero), scale);
  }
  VB flip;
  VF zero, scale;
};

/// Numbers to bytes. Bounds are whole: clamping before rounding equals clamping after it.
template <bool divides>
struct Quantiser {
  explicit Quantiser(const PairRowArgs& args)
      : flip(hn::Set(B(), args.y_type.flip)),
        zero(hn::Set(F(), args.y_type.zero)),
        scale(hn::Set(F(), args.y_type.scale)),
        reciprocal(hn::Set(F(), args.reciprocal)),
        low(hn::Set(F(), args.low - args.y_type.zero)),
        high(hn::Set(F(), args.high - args.y_type.zero)) {}
  HWY_INLINE VF Quotient(VF x) const {
    if constexpr (divides) return hn::Div(x, scale);
    // P. Markstein, Computation of elementary functions on the IBM RISC System/6000, 1990.
    const auto first = hn::Mul(x, reciprocal);
    return hn::MulAdd(hn::NegMulAdd(first, scale, x), reciprocal, first);
  }
  HWY_INLINE VB operator()(VF x) const {
    const auto steps = hn::Round(hn::Min(hn::Max(Quotient(x), low), high));
    return hn::Xor(hn::DemoteTo(B(), hn::ConvertTo(I(), hn::Add(steps, zero))), flip);
  }
  VB flip;
  VF zero, scale, reciprocal, low, high;
};

/// The lanes at `p`, or the one byte there in all of them.
template <bool once>
HWY_INLINE VB Load(const uint8_t* p) {
  if constexpr (once) return hn::Set(B(), *p);
  return hn::LoadU(B(), p);
}
/// The first `n` lanes.
template <bool once>
HWY_INLINE VB LoadFirst(const uint8_t* p, int64_t n) {
  if constexpr (once) return hn::Set(B(), *p);
  HWY_ALIGN uint8_t bytes[kLanes] = {};
  std::copy_n(p, n, bytes);
  return hn::Load(B(), bytes);
}

template <class Op, bool divides, bool b_once>
void Run(const PairRowArgs& args) {
  const Dequantiser a(args.a_type), b(args.b_type);
  const Quantiser<divides> quantise(args);
  const Op op;
  int64_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) {
    const VF x = a(Load<false>(args.a + i));
    const VF w = b(Load<b_once>(args.b + (b_once ? 0 : i)));
    hn::StoreU(quantise(op(x, w)), B(), args.y + i);
  }
  if (i == args.n) return;
  const VF x = a(LoadFirst<false>(args.a + i, args.n - i));
  const VF w = b(LoadFirst<b_once>(args.b + (b_once ? 0 : i), args.n - i));
  HWY_ALIGN uint8_t bytes[kLanes];
  hn::Store(quantise(op(x, w)), B(), bytes);
  std::copy_n(bytes, args.n - i, args.y + i);
}

/// Both operators commute.
template <class Op, bool divides>
void RunStrides(PairRowArgs args) {
  if (args.n > 1 && args.a_stride == 0) {
    std::swap(args.a, args.b);
    std::swap(args.a_stride, args.b_stride);
    std::swap(args.a_type, args.b_type);
  }
  if (args.n > 1 && args.b_stride == 0) return Run<Op, divides, true>(args);
  Run<Op, divides, false>(args);
}

template <class Op>
HWY_INLINE void RunOp(const PairRowArgs& args) {
  args.reciprocal == 0 ? RunStrides<Op, true>(args) : RunStrides<Op, false>(args);
}
void RunAdd(const PairRowArgs& args) { RunOp<Add>(args); }
/// a - b is a + (-b) exactly: the scale of b changes its sign.
void RunSub(const PairRowArgs& args) {
  PairRowArgs negated = args;
  negated.b_type.scale = -args.b_type.scale;
  RunAdd(negated);
}
void RunMul(const PairRowArgs& args) { RunOp<Mul>(args); }

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RunAdd);
HWY_EXPORT(RunSub);
HWY_EXPORT(RunMul);

PairRowFunction FindPairRow(PairOp op) {
  switch (op) {
    case PairOp::kAdd: return [](const PairRowArgs& args) { HWY_DYNAMIC_DISPATCH(RunAdd)(args); };
    case PairOp::kSub: return [](const PairRowArgs& args) { HWY_DYNAMIC_DISPATCH(RunSub)(args); };
    default: return [](const PairRowArgs& args) { HWY_DYNAMIC_DISPATCH(RunMul)(args); };
  }
}

bool IsReciprocalExact(PairOp op, PairRowArgs args) {
  std::array<uint8_t, 256> all, divided, multiplied;
  std::iota(all.begin(), all.end(), uint8_t{0});
  const PairRowFunction run = FindPairRow(op);
  args.a_stride = 0;
  args.b_stride = 1;
  args.b = all.data();
  args.n = 256;
  for (const uint8_t& a : all) {
    args.a = &a;
    args.y = divided.data();
    args.reciprocal = 0;
    run(args);
    args.y = multiplied.data();
    args.reciprocal = 1 / args.y_type.scale;
    run(args);
    if (divided != multiplied) return false;
  }
  return true;
}

}  // namespace fettle::kernels
#endif
