// The text of each function.
#include <algorithm>

#include "kernels/opencl/expression/compile.h"

namespace fettle::kernels {
namespace {

using expr::Fn;

/// A function and its text: {0} to {2} are its operands, {3} to {5} its numbers. A simple one is
/// one operation in the type of the values, others are computed in floats.
struct Printed {
  Fn fn;
  std::string_view text;
  bool is_simple = false;
};

constexpr Printed kPrinted[] = {
    // keep-sorted start
    {Fn::kAbs, "fabs({0})", true},
    {Fn::kAcos, "acos({0})"},
    {Fn::kAcosh, "acosh({0})"},
    {Fn::kAdd, "{0} + {1}", true},
    {Fn::kAnd, "{0} * {1}"},
    {Fn::kAsin, "asin({0})"},
    {Fn::kAsinh, "asinh({0})"},
    {Fn::kAtan, "atan({0})"},
    {Fn::kAtanh, "atanh({0})"},
    {Fn::kCeil, "ceil({0})"},
    {Fn::kClip, "RealAtMost(RealAtLeast({0}, {1}), {2})", true},
    {Fn::kCopy, "{0}", true},
    {Fn::kCos, "cos({0})"},
    {Fn::kCosh, "cosh({0})"},
    {Fn::kDequantise, "({0} - {1}) * {2}"},
    {Fn::kDiv, "{0} / {1}", true},
    {Fn::kElu, "Elu({0}, {3}, {4}, {5})"},
    {Fn::kEqual, "Truth({0} == {1})"},
    {Fn::kErf, "erf({0})"},
    {Fn::kExp, "exp({0})"},
    {Fn::kFloor, "floor({0})"},
    {Fn::kFmod, "fmod({0}, {1})"},
    {Fn::kGeluErf, "GeluErf({0})"},
    {Fn::kGeluTanh, "GeluTanh({0})"},
    {Fn::kGreater, "Truth(isgreater({0}, {1}))"},
    {Fn::kGreaterOrEqual, "Truth(isgreaterequal({0}, {1}))"},
    {Fn::kHardSigmoid, "HardSigmoid({0}, {3}, {4})"},
    {Fn::kHardSwish, "{0} * HardSigmoid({0}, 0.16666667f, 0.5f)"},
    {Fn::kIsInf, "IsInf({0}, {3}, {4})"},
    {Fn::kIsNaN, "Truth(isnan({0}))"},
    {Fn::kLeakyRelu, "LeakyRelu({0}, (float4)({3}))"},
    {Fn::kLess, "Truth(isless({0}, {1}))"},
    {Fn::kLessOrEqual, "Truth(islessequal({0}, {1}))"},
    {Fn::kLog, "log({0})"},
    {Fn::kMax, "RealLarger({0}, {1})", true},
    {Fn::kMin, "RealSmaller({0}, {1})", true},
    {Fn::kMish, "Mish({0})"},
    {Fn::kModulo, "Modulo({0}, {1})"},
    {Fn::kMul, "{0} * {1}", true},
    {Fn::kMulAdd, "{0} * {1} + {2}"},
    {Fn::kNeg, "-{0}", true},
    {Fn::kNot, "1.0f - {0}"},
    {Fn::kOr, "fmax({0}, {1})"},
    {Fn::kPRelu, "LeakyRelu({0}, {1})"},
    {Fn::kPow, "pow({0}, {1})"},
    {Fn::kQuantise, "Quantise({0}, {1}, {2}, {3}, {4})"},
    {Fn::kReciprocal, "1.0f / {0}"},
    {Fn::kRelu, "RealAtLeast({0}, LITERAL4(0.0f))", true},
    {Fn::kRound, "rint({0})"},
    {Fn::kShrink, "Shrink({0}, {3}, {4})"},
    {Fn::kSigmoid, "Sigmoid({0})"},
    {Fn::kSign, "Sign({0})"},
    {Fn::kSin, "sin({0})"},
    {Fn::kSinh, "sinh({0})"},
    {Fn::kSoftplus, "Softplus({0})"},
    {Fn::kSoftsign, "{0} / (1.0f + fabs({0}))"},
    {Fn::kSqrt, "sqrt({0})"},
    {Fn::kSub, "{0} - {1}", true},
    {Fn::kSwish, "{0} * Sigmoid({3} * {0})"},
    {Fn::kTan, "tan({0})"},
    {Fn::kTanh, "tanh({0})"},
    {Fn::kThresholdedRelu, "select({0}, ZERO4, islessequal({0}, (float4)({3})))"},
    {Fn::kToBool, "Truth({0} != ZERO4)"},
    {Fn::kToInt, "ToInteger({0}, {3}, {4})"},
    {Fn::kWhere, "Where({0}, {1}, {2})"},
    {Fn::kXor, "fabs({0} - {1})"},
    // keep-sorted end
};

constexpr bool IsPrinted(Fn fn) {
  return std::any_of(std::begin(kPrinted), std::end(kPrinted),
                     [fn](const Printed& row) { return row.fn == fn; });
}
#define FN(operands, name, ...) static_assert(IsPrinted(Fn::k##name));
#include "kernels/expr/fn.inc"

}  // namespace

std::string PrintInst(const expr::Inst& inst, const std::array<std::string, 3>& operands) {
  const Printed& row = *std::find_if(std::begin(kPrinted), std::end(kPrinted),
                                     [&](const Printed& known) { return known.fn == inst.fn; });
  std::array<std::string, 3> wide;
  for (int i = 0; i < expr::OperandsOf(inst.fn); ++i)
    wide[i] = row.is_simple ? operands[i] : fmt::format("WIDE({}, 4)", operands[i]);
  const std::string text = fmt::format(fmt::runtime(row.text), wide[0], wide[1], wide[2],
                                       Literal(inst.p0), Literal(inst.p1), Literal(inst.p2));
  return fmt::format(fmt::runtime(row.is_simple ? "ROUNDED({}, 4)" : "NARROW({}, 4)"), text);
}

std::string ExpressionCompiler::Print(const expr::Inst& inst) const {
  std::array<std::string, 3> operands;
  for (int i = 0; i < expr::OperandsOf(inst.fn); ++i) operands[i] = ValueOf(inst.args[i]);
  return PrintInst(inst, operands);
}

}  // namespace fettle::kernels
