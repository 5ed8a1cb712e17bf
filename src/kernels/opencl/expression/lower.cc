// The text of each element-wise operator.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/opencl/expression/compile.h"
#include "kernels/opencl/states.h"
#include "ops/elementwise/op.h"

namespace fettle::kernels {
namespace {

/// Integers that fp32 holds exactly, and bool.
bool IsSmall(DType type) {
  return type == DType::kBool || type == DType::kI8 || type == DType::kU8 || type == DType::kI16 ||
         type == DType::kU16;
}

struct Range {
  float least, greatest;
};
Range RangeOf(DType type) {
  switch (type) {
    case DType::kI8: return {-128, 127};
    case DType::kU8: return {0, 255};
    case DType::kI16: return {-32768, 32767};
    case DType::kU16: return {0, 65535};
    // The greatest value is one past the type's, which fp32 can hold and stores saturate.
    case DType::kI32: return {-0x1p31f, 0x1p31f};
    case DType::kI64: return {-0x1p63f, 0x1p63f};
    default: return {0, 1};
  }
}

/// An operator and its text: {0} and {1} are its operands, {2} and {3} its parameters. A simple one
/// is one operation in the type of the values, others are computed in floats.
struct Row {
  std::string_view op, text;
  bool is_simple = false;
};

constexpr Row kUnary[] = {
    // keep-sorted start
    {"Abs", "fabs({0})", true},
    {"Acos", "acos({0})"},
    {"Acosh", "acosh({0})"},
    {"Asin", "asin({0})"},
    {"Asinh", "asinh({0})"},
    {"Atan", "atan({0})"},
    {"Atanh", "atanh({0})"},
    {"Ceil", "ceil({0})"},
    {"Celu", "Elu({0}, {2}, {2}, 1.0f)"},
    {"Cos", "cos({0})"},
    {"Cosh", "cosh({0})"},
    {"Elu", "Elu({0}, {2}, 1.0f, 1.0f)"},
    {"Erf", "erf({0})"},
    {"Exp", "exp({0})"},
    {"Floor", "floor({0})"},
    {"HardSigmoid", "HardSigmoid({0}, {2}, {3})"},
    {"HardSwish", "{0} * HardSigmoid({0}, 0.16666667f, 0.5f)"},
    {"Identity", "{0}"},
    {"IsInf", "IsInf({0}, {2}, {3})"},
    {"IsNaN", "Truth(isnan({0}))"},
    {"LeakyRelu", "LeakyRelu({0}, (float4)({2}))"},
    {"Log", "log({0})"},
    {"Mish", "Mish({0})"},
    {"Neg", "-{0}", true},
    {"Reciprocal", "1.0f / {0}"},
    {"Relu", "RealAtLeast({0}, LITERAL4(0.0f))", true},
    {"Round", "rint({0})"},
    {"Selu", "Elu({0}, {2}, 1.0f, {3})"},
    {"Shrink", "Shrink({0}, {2}, {3})"},
    {"Sigmoid", "Sigmoid({0})"},
    {"Sign", "Sign({0})"},
    {"Sin", "sin({0})"},
    {"Sinh", "sinh({0})"},
    {"Softplus", "Softplus({0})"},
    {"Softsign", "{0} / (1.0f + fabs({0}))"},
    {"Sqrt", "sqrt({0})"},
    {"Swish", "{0} * Sigmoid({2} * {0})"},
    {"Tan", "tan({0})"},
    {"Tanh", "tanh({0})"},
    {"ThresholdedRelu", "select({0}, ZERO4, islessequal({0}, (float4)({2})))"},
    // keep-sorted end
};

/// Folds over two operands or more.
constexpr Row kFolds[] = {
    // keep-sorted start
    {"Add", "{0} + {1}", true},
    {"Div", "{0} / {1}", true},
    {"Max", "RealLarger({0}, {1})", true},
    {"Mean", "{0} + {1}", true},
    {"Min", "RealSmaller({0}, {1})", true},
    {"Mul", "{0} * {1}", true},
    {"PRelu", "LeakyRelu({0}, {1})"},
    {"Sub", "{0} - {1}", true},
    {"Sum", "{0} + {1}", true},
    // keep-sorted end
};

constexpr Row kComparisons[] = {
    {"Equal", "Truth({0} == {1})"},
    {"Greater", "Truth(isgreater({0}, {1}))"},
    {"GreaterOrEqual", "Truth(isgreaterequal({0}, {1}))"},
    {"Less", "Truth(isless({0}, {1}))"},
    {"LessOrEqual", "Truth(islessequal({0}, {1}))"},
};
constexpr Row kLogic[] = {
    {"And", "{0} * {1}"}, {"Or", "fmax({0}, {1})"}, {"Xor", "fabs({0} - {1})"}};

template <size_t n>
const Row* FindRow(const Row (&rows)[n], std::string_view op) {
  const Row* at =
      std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.op == op; });
  return at == std::end(rows) ? nullptr : at;
}

std::string Fill(std::string_view text, const std::string& a, const std::string& b = {},
                 const std::string& p0 = {}, const std::string& p1 = {}) {
  return fmt::format(fmt::runtime(text), a, b, p0, p1);
}

/// One node being written out.
class Lowering {
 public:
  Lowering(ExpressionCompiler& compiler, const ir::Node& node) : c_(compiler), node_(node) {}

  Result<std::string> Run() {
    if (node_.op == "Cast"_op || node_.op == "CastLike"_op) return Cast();
    if (node_.op == "QuantizeLinear"_op) return Quantise();
    if (node_.op == "DequantizeLinear"_op) return Dequantise();
    if (node_.op == "Where"_op) return Where();
    if (node_.op == "Not"_op) return Not();
    if (const Row* row = FindRow(kComparisons, node_.op))
      return IsFloatValue(type(0)) || IsSmall(type(0)) ? Fold(*row) : Refuse();
    if (const Row* row = FindRow(kLogic, node_.op)) return Fold(*row);
    if (!IsFloatValue(type(0))) return Refuse();
    if (node_.op == "Clip"_op) return Clip();
    if (node_.op == "Pow"_op) return Pow();
    if (node_.op == "Gelu"_op)
      return Unary({"Gelu", params().a != 0 ? "GeluTanh({0})" : "GeluErf({0})"});
    if (node_.op == "Mod"_op)
      return Binary(params().a != 0 ? "fmod({0}, {1})" : "Modulo({0}, {1})");
    if (node_.op == "BatchNormalization"_op) return BatchNorm();
    if (const Row* row = FindRow(kUnary, node_.op)) return Unary(*row);
    if (const Row* row = FindRow(kFolds, node_.op)) return Fold(*row);
    return Unsupported("operator {} is not element-wise", node_.op);
  }

 private:
  DType type(size_t i) const { return c_.dtype(node_.inputs[i]); }
  DType result() const { return c_.dtype(node_.outputs[0]); }
  ops::ElementwiseParams params() const { return ops::ReadElementwise(node_); }
  Result<std::string> in(size_t i) { return c_.Read(node_.inputs[i]); }
  Status Refuse() const {
    return Unsupported("{} of {} is not computed in fp32", node_.op, DTypeName(type(0)));
  }

  Result<std::string> wide(size_t i) {
    ASSIGN_OR_RETURN(const std::string value, in(i));
    return ExpressionCompiler::Wide(value);
  }

  std::string Emit(const Row& row, const std::string& a, const std::string& b = {}) {
    const ops::ElementwiseParams p = params();
    const auto widen = [&](const std::string& value) {
      return row.is_simple || value.empty() ? value : ExpressionCompiler::Wide(value);
    };
    const std::string text = Fill(row.text, widen(a), widen(b), Literal(static_cast<float>(p.a)),
                                  Literal(static_cast<float>(p.b)));
    return row.is_simple ? c_.EmitSimple(text) : c_.EmitWide(text);
  }

  Result<std::string> Unary(const Row& row) {
    ASSIGN_OR_RETURN(const std::string x, in(0));
    return Emit(row, x);
  }

  Result<std::string> Binary(std::string_view text) {
    ASSIGN_OR_RETURN(const std::string a, wide(0));
    ASSIGN_OR_RETURN(const std::string b, wide(1));
    return c_.EmitWide(Fill(text, a, b));
  }

  Result<std::string> Fold(const Row& row) {
    ASSIGN_OR_RETURN(std::string value, in(0));
    for (size_t i = 1; i < node_.inputs.size(); ++i) {
      ASSIGN_OR_RETURN(const std::string next, in(i));
      value = Emit(row, value, next);
    }
    if (node_.op == "Mean"_op)
      value = c_.EmitSimple(
          fmt::format("{} / {}", value, Literal4(static_cast<float>(node_.inputs.size()))));
    return value;
  }

  Result<std::string> Not() {
    ASSIGN_OR_RETURN(const std::string x, wide(0));
    return c_.EmitWide("1.0f - " + x);
  }

  Result<std::string> Where() {
    if (!IsFloatValue(type(1)) && !IsSmall(type(1))) return Refuse();
    ASSIGN_OR_RETURN(const std::string condition, wide(0));
    ASSIGN_OR_RETURN(const std::string a, wide(1));
    ASSIGN_OR_RETURN(const std::string b, wide(2));
    return c_.EmitWide(fmt::format("Where({}, {}, {})", condition, a, b));
  }

  Result<std::string> Clip() {
    ASSIGN_OR_RETURN(std::string value, in(0));
    if (node_.input(1) != ir::kAbsent) {
      ASSIGN_OR_RETURN(const std::string low, in(1));
      value = c_.EmitSimple(fmt::format("RealAtLeast({}, {})", value, low));
    }
    if (node_.input(2) != ir::kAbsent) {
      ASSIGN_OR_RETURN(const std::string high, in(2));
      value = c_.EmitSimple(fmt::format("RealAtMost({}, {})", value, high));
    }
    return value;
  }

  Result<std::string> Pow() {
    if (!IsFloatValue(result())) return Refuse();
    const auto exponent = ImmediateOf(c_.group().value(node_.inputs[1]));
    ASSIGN_OR_RETURN(const std::string x, in(0));
    if (exponent == 1.0f) return x;
    if (exponent == 2.0f) return c_.EmitSimple(Fill("{0} * {0}", x));
    if (exponent == 3.0f) return c_.EmitWide(Fill("{0} * {0} * {0}", c_.Wide(x)));
    if (exponent == 0.5f) return c_.EmitWide(Fill("sqrt({0})", c_.Wide(x)));
    if (exponent == -1.0f) return c_.EmitWide(Fill("1.0f / {0}", c_.Wide(x)));
    return Binary("pow({0}, {1})");
  }

  Result<std::string> Cast() {
    const DType from = type(0), to = result();
    const bool is_integer_from = IsSmall(from) || from == DType::kI32 || from == DType::kI64;
    const bool is_integer_to = IsSmall(to) || to == DType::kI32 || to == DType::kI64;
    if (!(IsFloatValue(from) || is_integer_from) || !(IsFloatValue(to) || is_integer_to))
      return Refuse();
    ASSIGN_OR_RETURN(const std::string x, in(0));
    if (to == DType::kBool) return c_.EmitWide(fmt::format("Truth({} != ZERO4)", c_.Wide(x)));
    const Range range = RangeOf(to);
    if (IsFloatValue(from) && !IsFloatValue(to))
      return c_.EmitWide(fmt::format("ToInteger({}, {}, {})", c_.Wide(x), Literal(range.least),
                                     Literal(range.greatest)));
    if (IsFloatValue(to)) {
      // A large integer is rounded once, by the load; twice would differ.
      if (!IsFloatValue(from) && !IsSmall(from) && to != DType::kF32) return Refuse();
      return x;
    }
    // Integers that wrap around are not for fp32.
    const Range own = RangeOf(from);
    if (!IsSmall(from) || own.least < range.least || own.greatest > range.greatest) return Refuse();
    return x;
  }

  Result<std::string> Along(size_t i) {
    if (node_.input(i) == ir::kAbsent) return Literal4(0);
    if (node_.attributes.Int("block_size", 0) != 0) return Unsupported("blocks of scales");
    const Shape& x = c_.shape(node_.inputs[0]);
    const auto axis = NormaliseAxis(node_.attributes.Int("axis", 1), std::max(x.rank(), 1));
    return c_.ReadAlongAxis(node_.inputs[i], axis.value_or(-1), x);
  }

  Result<std::string> Quantise() {
    if (!IsFloatValue(type(0)) || !IsSmall(result())) return Refuse();
    ASSIGN_OR_RETURN(const std::string x, wide(0));
    ASSIGN_OR_RETURN(const std::string scale, Along(1));
    ASSIGN_OR_RETURN(const std::string zero, Along(2));
    const Range range = RangeOf(result());
    return c_.EmitWide(fmt::format("Quantise({}, {}, {}, {}, {})", x, c_.Wide(scale), c_.Wide(zero),
                                   Literal(range.least), Literal(range.greatest)));
  }

  Result<std::string> Dequantise() {
    if (!IsSmall(type(0)) && type(0) != DType::kI32) return Refuse();
    if (!IsFloatValue(result())) return Refuse();
    ASSIGN_OR_RETURN(const std::string x, wide(0));
    ASSIGN_OR_RETURN(const std::string scale, Along(1));
    ASSIGN_OR_RETURN(const std::string zero, Along(2));
    return c_.EmitWide(fmt::format("({} - {}) * {}", x, c_.Wide(zero), c_.Wide(scale)));
  }

  /// x * s + t with one s and t per channel, made from the four constants.
  Result<std::string> BatchNorm() {
    const Shape& x_shape = c_.shape(node_.inputs[0]);
    if (x_shape.rank() < 2 || node_.outputs.size() != 1)
      return Unsupported("BatchNormalization in training");
    const std::vector<ir::ValueId> constants(node_.inputs.begin() + 1, node_.inputs.end());
    for (ir::ValueId id : constants) {
      if (!c_.group().value(id).is_constant())
        return Unsupported("BatchNormalization with statistics that are no constants");
    }
    ASSIGN_OR_RETURN(const std::string x, in(0));
    Shape channels(Dims(x_shape.rank(), 1));
    channels[1] = x_shape[1];
    const double epsilon = node_.attributes.Float("epsilon", 1e-5);
    const auto factor = [epsilon](std::span<const Constant* const> c, int64_t i) {
      return c[0]->GetDouble(i) / std::sqrt(c[3]->GetDouble(i) + epsilon);
    };
    ASSIGN_OR_RETURN(const std::string scale,
                     c_.Derived(constants, channels, fmt::format("bn_scale{}", epsilon),
                                [factor](std::span<const Constant* const> c, int64_t i, float* y) {
                                  *y = static_cast<float>(factor(c, i));
                                  return OkStatus();
                                }));
    ASSIGN_OR_RETURN(const std::string offset,
                     c_.Derived(constants, channels, fmt::format("bn_offset{}", epsilon),
                                [factor](std::span<const Constant* const> c, int64_t i, float* y) {
                                  *y = static_cast<float>(c[1]->GetDouble(i) -
                                                          c[2]->GetDouble(i) * factor(c, i));
                                  return OkStatus();
                                }));
    const std::string scaled = c_.EmitSimple(fmt::format("{} * {}", x, scale));
    return c_.EmitSimple(fmt::format("{} + {}", scaled, offset));
  }

  ExpressionCompiler& c_;
  const ir::Node& node_;
};

}  // namespace

Result<std::string> LowerToText(ExpressionCompiler& compiler, const ir::Node& node) {
  return Lowering(compiler, node).Run();
}

}  // namespace fettle::kernels
