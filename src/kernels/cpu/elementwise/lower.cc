// The instructions of each element-wise operator.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/cpu/elementwise/compile.h"

namespace fettle::kernels::elementwise {
namespace {

bool IsRealFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}
/// Integers that fp32 holds exactly, and bool.
bool IsSmall(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kI8 || dtype == DType::kU8 ||
         dtype == DType::kI16 || dtype == DType::kU16;
}
bool IsLarge(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kU32 || dtype == DType::kI64 ||
         dtype == DType::kU64;
}

struct Range {
  float least, greatest;
};
/// The range of an integer type; the greatest value of the large ones is one past it, which fp32
/// can hold and stores saturate.
Range RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kI8: return {-128, 127};
    case DType::kU8: return {0, 255};
    case DType::kI16: return {-32768, 32767};
    case DType::kU16: return {0, 65535};
    case DType::kI32: return {-0x1p31f, 0x1p31f};
    case DType::kU32: return {0, 0x1p32f};
    case DType::kI64: return {-0x1p63f, 0x1p63f};
    case DType::kU64: return {0, 0x1p64f};
    default: return {0, 1};
  }
}

struct Row {
  std::string_view op;
  OpCode code;
};

constexpr Row kPlainUnary[] = {
    {"Abs", OpCode::kAbs},
    {"Ceil", OpCode::kCeil},
    {"Cos", OpCode::kCos},
    {"Erf", OpCode::kErf},
    {"Exp", OpCode::kExp},
    {"Floor", OpCode::kFloor},
    {"HardSwish", OpCode::kHardSwish},
    {"IsNaN", OpCode::kIsNaN},
    {"Log", OpCode::kLog},
    {"Mish", OpCode::kMish},
    {"Neg", OpCode::kNeg},
    {"Reciprocal", OpCode::kReciprocal},
    {"Relu", OpCode::kRelu},
    {"Round", OpCode::kRound},
    {"Sigmoid", OpCode::kSigmoid},
    {"Sign", OpCode::kSign},
    {"Sin", OpCode::kSin},
    {"Softplus", OpCode::kSoftplus},
    {"Softsign", OpCode::kSoftsign},
    {"Sqrt", OpCode::kSqrt},
    {"Tanh", OpCode::kTanh},
    {"Identity", OpCode::kCopy},
};

/// Folds over two operands or more of one type.
constexpr Row kFolds[] = {
    {"Add", OpCode::kAdd}, {"Sub", OpCode::kSub},     {"Mul", OpCode::kMul},
    {"Div", OpCode::kDiv}, {"Max", OpCode::kMax},     {"Min", OpCode::kMin},
    {"Sum", OpCode::kAdd}, {"PRelu", OpCode::kPRelu}, {"Mean", OpCode::kAdd},
};

struct Comparison {
  std::string_view op;
  OpCode code;
  bool swapped;
};
constexpr Comparison kComparisons[] = {
    {"Equal", OpCode::kEqual, false},
    {"Less", OpCode::kLess, false},
    {"Greater", OpCode::kLess, true},
    {"LessOrEqual", OpCode::kLessOrEqual, false},
    {"GreaterOrEqual", OpCode::kLessOrEqual, true},
};
constexpr Row kLogic[] = {{"And", OpCode::kAnd}, {"Or", OpCode::kOr}, {"Xor", OpCode::kXor}};

template <typename T, size_t N>
const T* FindRow(const T (&rows)[N], std::string_view op) {
  const auto* at =
      std::find_if(std::begin(rows), std::end(rows), [&](const T& row) { return row.op == op; });
  return at == std::end(rows) ? nullptr : at;
}

/// One node being lowered.
class Lowering {
 public:
  Lowering(Compiler& compiler, const ir::Node& node) : c_(compiler), node_(node) {}

  Result<Source> Run() {
    if (node_.op == "Cast"_op || node_.op == "CastLike"_op) return Cast();
    if (node_.op == "QuantizeLinear"_op) return Quantise();
    if (node_.op == "DequantizeLinear"_op) return Dequantise();
    if (node_.op == "Where"_op) return Where();
    if (node_.op == "Not"_op) return Not();
    if (FindRow(kComparisons, node_.op) != nullptr) return Compare();
    if (const Row* row = FindRow(kLogic, node_.op)) return Logic(row->code);
    if (!IsRealFloat(type(0))) return Refuse();
    if (node_.op == "Clip"_op) return Clip();
    if (node_.op == "Pow"_op) return Pow();
    if (node_.op == "BatchNormalization"_op) return BatchNorm();
    if (const Row* row = FindRow(kPlainUnary, node_.op)) return Unary(row->code);
    if (const Row* row = FindRow(kFolds, node_.op)) return Fold(row->code);
    return Parametric();
  }

 private:
  DType type(size_t i) const { return c_.dtype(node_.inputs[i]); }
  DType result() const { return c_.dtype(node_.outputs[0]); }
  Result<Source> in(size_t i) { return c_.Read(node_.inputs[i]); }
  Status Refuse() const {
    return Unsupported("{} of {} is not computed in fp32", node_.op, DTypeName(type(0)));
  }

  Result<Source> Unary(OpCode code, float p0 = 0, float p1 = 0, float p2 = 1) {
    ASSIGN_OR_RETURN(const Source x, in(0));
    return c_.Emit(Instruction{.code = code, .a = x, .p0 = p0, .p1 = p1, .p2 = p2});
  }

  /// Operators with parameters; those without a vector form run their scalar function.
  Result<Source> Parametric() {
    const ops::ElementwiseParams params = ops::ReadElementwise(node_);
    const auto a = static_cast<float>(params.a), b = static_cast<float>(params.b);
    if (node_.op == "LeakyRelu"_op) return Unary(OpCode::kLeakyRelu, a);
    if (node_.op == "Elu"_op) return Unary(OpCode::kElu, a, 1);
    if (node_.op == "Celu"_op) return Unary(OpCode::kElu, a, 1 / a);
    if (node_.op == "Selu"_op) return Unary(OpCode::kElu, a, 1, b);
    if (node_.op == "HardSigmoid"_op) return Unary(OpCode::kHardSigmoid, a, b);
    if (node_.op == "Swish"_op) return Unary(OpCode::kSwish, a);
    if (node_.op == "ThresholdedRelu"_op) return Unary(OpCode::kThreshold, a);
    if (node_.op == "Gelu"_op) return Unary(a == 0 ? OpCode::kGeluErf : OpCode::kGeluTanh);
    if (node_.op == "IsInf"_op) return Unary(OpCode::kIsInf, a, b);
    Instruction scalar{.code = OpCode::kScalar, .params = params};
    if (const ops::UnaryRow* row = ops::FindUnary(node_.op)) scalar.unary = row->on_double;
    if (const ops::FoldRow* row = ops::FindFold(node_.op)) scalar.fold = row->on_double;
    if (scalar.unary == nullptr && scalar.fold == nullptr)
      return Unsupported("operator {} is not element-wise", node_.op);
    ASSIGN_OR_RETURN(scalar.a, in(0));
    if (scalar.fold != nullptr) {
      if (node_.inputs.size() != 2) return Refuse();
      ASSIGN_OR_RETURN(scalar.b, in(1));
    }
    return c_.Emit(scalar);
  }

  Result<Source> Fold(OpCode code) {
    ASSIGN_OR_RETURN(Source sum, in(0));
    for (size_t i = 1; i < node_.inputs.size(); ++i) {
      ASSIGN_OR_RETURN(const Source next, in(i));
      sum = c_.Emit(code, sum, next);
    }
    if (node_.op == "Mean"_op) {
      const auto count = static_cast<float>(node_.inputs.size());
      sum = c_.Emit(OpCode::kDiv, sum, Source{Source::kImmediate, 0, count});
    }
    return sum;
  }

  Result<Source> Compare() {
    if (!IsRealFloat(type(0)) && !IsSmall(type(0))) return Refuse();
    const Comparison& row = *FindRow(kComparisons, node_.op);
    ASSIGN_OR_RETURN(const Source a, in(0));
    ASSIGN_OR_RETURN(const Source b, in(1));
    return row.swapped ? c_.Emit(row.code, b, a) : c_.Emit(row.code, a, b);
  }

  Result<Source> Logic(OpCode code) {
    ASSIGN_OR_RETURN(const Source a, in(0));
    ASSIGN_OR_RETURN(const Source b, in(1));
    return c_.Emit(code, a, b);
  }

  Result<Source> Not() { return Unary(OpCode::kNot); }

  Result<Source> Where() {
    if (!IsRealFloat(type(1)) && !IsSmall(type(1))) return Refuse();
    ASSIGN_OR_RETURN(const Source condition, in(0));
    ASSIGN_OR_RETURN(const Source a, in(1));
    ASSIGN_OR_RETURN(const Source b, in(2));
    return c_.Emit(OpCode::kWhere, condition, a, b);
  }

  Result<Source> Clip() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto bound = [&](size_t i, float none) -> Result<Source> {
      if (node_.input(i) == ir::kAbsent) return Source{Source::kImmediate, 0, none};
      return in(i);
    };
    ASSIGN_OR_RETURN(const Source least, bound(1, -kInfinity));
    ASSIGN_OR_RETURN(const Source greatest, bound(2, kInfinity));
    if (least.kind == Source::kImmediate && greatest.kind == Source::kImmediate)
      return Unary(OpCode::kClip, least.value, greatest.value);
    ASSIGN_OR_RETURN(const Source x, in(0));
    return c_.Emit(OpCode::kClip3, x, least, greatest);
  }

  Result<Source> Pow() {
    if (!IsRealFloat(result())) return Refuse();
    ASSIGN_OR_RETURN(const Source x, in(0));
    ASSIGN_OR_RETURN(const Source e, in(1));
    if (e.kind == Source::kImmediate) {
      if (e.value == 1) return c_.Emit(OpCode::kCopy, x);
      if (e.value == 2) return c_.Emit(OpCode::kMul, x, x);
      if (e.value == 3) return c_.Emit(OpCode::kMul, c_.Emit(OpCode::kMul, x, x), x);
      if (e.value == 0.5f) return c_.Emit(OpCode::kSqrt, x);
      if (e.value == -1) return c_.Emit(OpCode::kReciprocal, x);
    }
    return c_.Emit(Instruction{
        .code = OpCode::kScalar,
        .a = x,
        .b = e,
        .fold = [](double a, double b, const ops::ElementwiseParams&) { return std::pow(a, b); }});
  }

  Result<Source> Cast() {
    const DType from = type(0), to = result();
    const bool known_from = IsRealFloat(from) || IsSmall(from) || IsLarge(from);
    const bool known_to = IsRealFloat(to) || IsSmall(to) || IsLarge(to);
    if (!known_from || !known_to) return Refuse();
    ASSIGN_OR_RETURN(const Source x, in(0));
    if (to == DType::kBool) return c_.Emit(OpCode::kToBool, x);
    if (IsRealFloat(from) && !IsRealFloat(to)) {
      const Range range = RangeOf(to);
      return c_.Emit(
          Instruction{.code = OpCode::kToInt, .a = x, .p0 = range.least, .p1 = range.greatest});
    }
    if (IsRealFloat(to)) {
      // A large integer is rounded once, by the load; twice would differ.
      if (IsLarge(from) && to != DType::kF32) return Refuse();
      return c_.Emit(OpCode::kCopy, x);
    }
    // Integers that wrap around are not for fp32.
    const Range a = RangeOf(from), b = RangeOf(to);
    if (!IsSmall(from) || a.least < b.least || a.greatest > b.greatest) return Refuse();
    return c_.Emit(OpCode::kCopy, x);
  }

  Result<int> Axis() const {
    if (node_.attributes.Int("block_size", 0) != 0) return Unsupported("blocks of scales");
    const int rank = c_.shape(node_.inputs[0]).rank();
    const auto axis = NormaliseAxis(node_.attributes.Int("axis", 1), std::max(rank, 1));
    return axis.value_or(-1);  // unused where there is one scale
  }

  Result<Source> Along(size_t i) {
    if (node_.input(i) == ir::kAbsent) return Source{Source::kImmediate, 0, 0};
    ASSIGN_OR_RETURN(const int axis, Axis());
    return c_.ReadAlongAxis(node_.inputs[i], axis, c_.shape(node_.inputs[0]));
  }

  Result<Source> Quantise() {
    if (!IsRealFloat(type(0)) || !IsSmall(result())) return Refuse();
    ASSIGN_OR_RETURN(const Source x, in(0));
    ASSIGN_OR_RETURN(const Source scale, Along(1));
    ASSIGN_OR_RETURN(const Source zero, Along(2));
    const Range range = RangeOf(result());
    return c_.Emit(Instruction{.code = OpCode::kQuantise,
                               .a = x,
                               .b = scale,
                               .c = zero,
                               .p0 = range.least,
                               .p1 = range.greatest});
  }

  Result<Source> Dequantise() {
    if (!IsSmall(type(0)) && type(0) != DType::kI32) return Refuse();
    if (!IsRealFloat(result())) return Refuse();
    ASSIGN_OR_RETURN(const Source x, in(0));
    ASSIGN_OR_RETURN(const Source scale, Along(1));
    ASSIGN_OR_RETURN(const Source zero, Along(2));
    return c_.Emit(OpCode::kDequantise, x, zero, scale);
  }

  /// x * s + t with one s and t per channel, made from the four constants.
  Result<Source> BatchNorm() {
    const Shape& x_shape = c_.shape(node_.inputs[0]);
    if (x_shape.rank() < 2 || node_.outputs.size() != 1) return Refuse();
    std::vector<ir::ValueId> constants(node_.inputs.begin() + 1, node_.inputs.end());
    for (ir::ValueId id : constants) {
      if (!c_.group().value(id).is_constant()) return BatchNormOfOperands();
    }
    ASSIGN_OR_RETURN(const Source x, in(0));
    Shape channels(Dims(x_shape.rank(), 1));
    channels[1] = x_shape[1];
    const double epsilon = node_.attributes.Float("epsilon", 1e-5);
    const auto factor = [epsilon](std::span<const Constant* const> c, int64_t i) {
      return c[0]->GetDouble(i) / std::sqrt(c[3]->GetDouble(i) + epsilon);
    };
    const Source scale =
        c_.Derived(constants, channels, fmt::format("bn_scale{}", epsilon),
                   [factor](std::span<const Constant* const> c, int64_t i, float* out) {
                     *out = static_cast<float>(factor(c, i));
                     return OkStatus();
                   });
    const Source offset = c_.Derived(
        constants, channels, fmt::format("bn_offset{}", epsilon),
        [factor](std::span<const Constant* const> c, int64_t i, float* out) {
          *out = static_cast<float>(c[1]->GetDouble(i) - c[2]->GetDouble(i) * factor(c, i));
          return OkStatus();
        });
    return c_.Emit(OpCode::kMulAdd, x, scale, offset);
  }

  /// The same where a statistic is an operand: its root is taken again for each element.
  Result<Source> BatchNormOfOperands() {
    Source parameters[4];
    for (size_t i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(parameters[i],
                       c_.ReadAlongAxis(node_.inputs[i + 1], 1, c_.shape(node_.inputs[0])));
    }
    const auto& [scale, bias, mean, variance] = parameters;
    ASSIGN_OR_RETURN(const Source x, in(0));
    const auto epsilon = static_cast<float>(node_.attributes.Float("epsilon", 1e-5));
    const Source shifted = c_.Emit(OpCode::kAdd, variance, Source{Source::kImmediate, 0, epsilon});
    const Source normal =
        c_.Emit(OpCode::kDiv, c_.Emit(OpCode::kSub, x, mean), c_.Emit(OpCode::kSqrt, shifted));
    return c_.Emit(OpCode::kMulAdd, normal, scale, bias);
  }

  Compiler& c_;
  const ir::Node& node_;
};

}  // namespace

Result<Source> Lower(Compiler& compiler, const ir::Node& node) {
  return Lowering(compiler, node).Run();
}

}  // namespace fettle::kernels::elementwise
