// The instructions of each element-wise operator: those that are a function each by the rows of
// fn.inc, the others by a rule.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/expr/lowering.h"
#include "ops/elementwise/op.h"

namespace fettle::kernels::expr {
namespace {

/// Computed in fp32, whatever they are stored as.
bool IsReal(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

struct Range {
  float least, greatest;
};
/// What an integer or bool holds; the greatest value of the large types is one past it, which fp32
/// can hold and stores saturate. Nullopt: not converted here.
std::optional<Range> RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kBool: return Range{0, 1};
    case DType::kI8: return Range{-128, 127};
    case DType::kU8: return Range{0, 255};
    case DType::kI16: return Range{-32768, 32767};
    case DType::kU16: return Range{0, 65535};
    case DType::kI32: return Range{-0x1p31f, 0x1p31f};
    case DType::kU32: return Range{0, 0x1p32f};
    case DType::kI64: return Range{-0x1p63f, 0x1p63f};
    case DType::kU64: return Range{0, 0x1p64f};
    default: return std::nullopt;
  }
}
/// Integers that fp32 holds exactly, and bool.
bool IsSmallInteger(DType dtype) {
  const auto range = RangeOf(dtype);
  return range && range->greatest <= 65535;
}

bool IsHeld(DType dtype) { return IsReal(dtype) || IsSmallInteger(dtype); }

using Numbers = std::array<float, 3>;
template <typename... T>
Numbers AsFloats(T... numbers) {
  return {static_cast<float>(numbers)...};
}

/// An operator that is one function.
struct Row {
  std::string_view op;
  Fn fn;
  bool (*takes)(DType);
  Numbers (*numbers)(const ops::ElementwiseParams& p);
};
constexpr Row kRows[] = {
#define OP(name, fn, takes, ...) \
  {#name, Fn::k##fn, Is##takes,  \
   [](const ops::ElementwiseParams& p) { return (void)p, AsFloats(__VA_ARGS__); }},
#define FN(operands, name, takes, ...) OP(name, name, takes, __VA_ARGS__)
#define PART(operands, name)
#include "kernels/expr/fn.inc"
};

/// One node being lowered.
class NodeLowering {
 public:
  NodeLowering(Lowering& lowering, const ir::Node& node) : l_(lowering), node_(node) {}

  Result<Ref> Run();

  /// An operator of its own.
  struct Rule {
    std::string_view op;
    Result<Ref> (*lower)(NodeLowering&);
  };
  static std::span<const Rule> Rules();
  /// A rule as a plain function: gcc takes a pointer to a member for one that may be virtual, and
  /// the object for one without a table.
  template <Result<Ref> (NodeLowering::*kLower)()>
  static Result<Ref> By(NodeLowering& node) {
    return (node.*kLower)();
  }

 private:
  DType type(size_t i) const { return l_.dtype(node_.inputs[i]); }
  DType result() const { return l_.dtype(node_.outputs[0]); }
  Result<Ref> in(size_t i) { return l_.Read(node_.inputs[i]); }
  Status Refuse() const {
    return Unsupported("{} of {} is not computed in fp32", node_.op, DTypeName(type(0)));
  }

  Ref Emit(Fn fn, Ref a, Ref b = 0, Ref c = 0, const Numbers& p = {}) {
    return l_.Emit({fn, {a, b, c}, p[0], p[1], p[2]});
  }

  /// A fold where a function of two operands has more.
  Result<Ref> One(const Row& row) {
    std::vector<Ref> x;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!row.takes(type(i))) return Refuse();
      ASSIGN_OR_RETURN(x.emplace_back(), in(i));
    }
    const Numbers p = row.numbers(ops::ReadElementwise(node_));
    if (OperandsOf(row.fn) == 1) return Emit(row.fn, x[0], 0, 0, p);
    if (OperandsOf(row.fn) == 3) return Emit(row.fn, x[0], x[1], x[2], p);
    Ref value = x[0];
    for (size_t i = 1; i < x.size(); ++i) value = Emit(row.fn, value, x[i], 0, p);
    return value;
  }

  /// The function that a row would be of, for an operator that is one of several.
  Result<Ref> As(Fn fn) {
    return One({node_.op, fn, IsReal, [](const auto&) { return Numbers(); }});
  }

  Result<Ref> Gelu() {
    return As(ops::ReadElementwise(node_).a != 0 ? Fn::kGeluTanh : Fn::kGeluErf);
  }
  Result<Ref> Mod() { return As(ops::ReadElementwise(node_).a != 0 ? Fn::kFmod : Fn::kModulo); }

  Result<Ref> Identity() {
    if (!IsReal(type(0))) return Refuse();
    return in(0);
  }

  Result<Ref> Mean() {
    ASSIGN_OR_RETURN(const Ref sum, As(Fn::kAdd));
    return Emit(Fn::kDiv, sum, l_.Number(static_cast<float>(node_.inputs.size())));
  }

  Result<Ref> Clip() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (!IsReal(type(0))) return Refuse();
    const auto bound = [&](size_t i, float none) -> Result<Ref> {
      return node_.input(i) == ir::kAbsent ? l_.Number(none) : in(i);
    };
    ASSIGN_OR_RETURN(const Ref x, in(0));
    ASSIGN_OR_RETURN(const Ref least, bound(1, -kInfinity));
    ASSIGN_OR_RETURN(const Ref greatest, bound(2, kInfinity));
    return Emit(Fn::kClip, x, least, greatest);
  }

  Result<Ref> Pow() {
    if (!IsReal(type(0)) || !IsReal(result())) return Refuse();
    const std::optional<float> number = l_.NumberOf(node_.inputs[1]);
    ASSIGN_OR_RETURN(const Ref x, in(0));
    if (number == 1.0f) return x;
    if (number == 2.0f) return Emit(Fn::kMul, x, x);
    if (number == 3.0f) return Emit(Fn::kMul, Emit(Fn::kMul, x, x), x);
    if (number == 0.5f) return Emit(Fn::kSqrt, x);
    if (number == -1.0f) return Emit(Fn::kReciprocal, x);
    ASSIGN_OR_RETURN(const Ref exponent, in(1));
    return Emit(Fn::kPow, x, exponent);
  }

  Result<Ref> Cast() {
    const DType from = type(0), to = result();
    const std::optional<Range> own = RangeOf(from), range = RangeOf(to);
    if (!(IsReal(from) || own) || !(IsReal(to) || range)) return Refuse();
    ASSIGN_OR_RETURN(const Ref x, in(0));
    if (to == DType::kBool) return Emit(Fn::kToBool, x);
    if (IsReal(from) && range) return Emit(Fn::kToInt, x, 0, 0, {range->least, range->greatest});
    // A large integer is rounded once, by the load; twice would differ.
    if (IsReal(to)) return IsHeld(from) || to == DType::kF32 ? Result<Ref>(x) : Refuse();
    // Integers that wrap around are not for fp32.
    if (!IsHeld(from) || own->least < range->least || own->greatest > range->greatest)
      return Refuse();
    return x;
  }

  /// A scale or a zero point.
  Result<Ref> Along(size_t i) {
    if (node_.input(i) == ir::kAbsent) return l_.Number(0);
    const Shape& x = l_.shape(node_.inputs[0]);
    const auto axis = NormaliseAxis(node_.attributes.Int("axis", 1), std::max(x.rank(), 1));
    if (node_.attributes.Int("block_size", 0) != 0) {
      if (l_.shape(node_.inputs[i])[*axis] != 1) return Unsupported("several blocks of an axis");
      return in(i);
    }
    return l_.ReadAlongAxis(node_.inputs[i], axis.value_or(-1), x);  // unused: there is one scale
  }

  Result<Ref> Quantise() {
    if (!IsReal(type(0)) || !IsSmallInteger(result())) return Refuse();
    ASSIGN_OR_RETURN(const Ref x, in(0));
    ASSIGN_OR_RETURN(const Ref scale, Along(1));
    ASSIGN_OR_RETURN(const Ref zero, Along(2));
    const Range range = *RangeOf(result());
    return Emit(Fn::kQuantise, x, scale, zero, {range.least, range.greatest});
  }

  Result<Ref> Dequantise() {
    if (!IsSmallInteger(type(0)) && type(0) != DType::kI32) return Refuse();
    if (!IsReal(result())) return Refuse();
    ASSIGN_OR_RETURN(const Ref x, in(0));
    ASSIGN_OR_RETURN(const Ref scale, Along(1));
    ASSIGN_OR_RETURN(const Ref zero, Along(2));
    return Emit(Fn::kDequantise, x, zero, scale);
  }

  Result<Ref> BatchNorm();
  Result<Ref> BatchNormOfOperands();

  Lowering& l_;
  const ir::Node& node_;
};

/// x * s + t with one s and t per channel, made from the four constants.
Result<Ref> NodeLowering::BatchNorm() {
  const Shape& x_shape = l_.shape(node_.inputs[0]);
  if (!IsReal(type(0)) || x_shape.rank() < 2) return Refuse();
  if (node_.outputs.size() != 1) return Unsupported("BatchNormalization in training");
  const std::vector<ir::ValueId> constants(node_.inputs.begin() + 1, node_.inputs.end());
  const auto is_constant = [&](ir::ValueId id) { return l_.group().value(id).is_constant(); };
  if (!std::all_of(constants.begin(), constants.end(), is_constant)) return BatchNormOfOperands();
  ASSIGN_OR_RETURN(const Ref x, in(0));
  Shape channels(Dims(x_shape.rank(), 1));
  channels[1] = x_shape[1];
  const double epsilon = node_.attributes.Float("epsilon", 1e-5);
  const auto factor = [epsilon](std::span<const Constant* const> c, int64_t i) {
    return c[0]->GetDouble(i) / std::sqrt(c[3]->GetDouble(i) + epsilon);
  };
  const Ref scale = l_.Derived(constants, channels, fmt::format("bn_scale{}", epsilon),
                               [factor](std::span<const Constant* const> c, int64_t i, float* y) {
                                 *y = static_cast<float>(factor(c, i));
                                 return OkStatus();
                               });
  const Ref offset =
      l_.Derived(constants, channels, fmt::format("bn_offset{}", epsilon),
                 [factor](std::span<const Constant* const> c, int64_t i, float* y) {
                   *y = static_cast<float>(c[1]->GetDouble(i) - c[2]->GetDouble(i) * factor(c, i));
                   return OkStatus();
                 });
  return Emit(Fn::kAdd, Emit(Fn::kMul, x, scale), offset);
}

/// The same where a statistic is an operand: its root is taken again for each element.
Result<Ref> NodeLowering::BatchNormOfOperands() {
  Ref parameters[4];
  for (size_t i = 0; i < 4; ++i) {
    ASSIGN_OR_RETURN(parameters[i],
                     l_.ReadAlongAxis(node_.inputs[i + 1], 1, l_.shape(node_.inputs[0])));
  }
  const auto [scale, bias, mean, variance] = parameters;
  ASSIGN_OR_RETURN(const Ref x, in(0));
  const Ref epsilon = l_.Number(static_cast<float>(node_.attributes.Float("epsilon", 1e-5)));
  const Ref deviation = Emit(Fn::kSqrt, Emit(Fn::kAdd, variance, epsilon));
  const Ref normal = Emit(Fn::kDiv, Emit(Fn::kSub, x, mean), deviation);
  return Emit(Fn::kAdd, Emit(Fn::kMul, normal, scale), bias);
}

std::span<const NodeLowering::Rule> NodeLowering::Rules() {
  static constexpr Rule kRules[] = {
      {"BatchNormalization", By<&NodeLowering::BatchNorm>},
      {"Cast", By<&NodeLowering::Cast>},
      {"CastLike", By<&NodeLowering::Cast>},
      {"Clip", By<&NodeLowering::Clip>},
      {"DequantizeLinear", By<&NodeLowering::Dequantise>},
      {"Gelu", By<&NodeLowering::Gelu>},
      {"Identity", By<&NodeLowering::Identity>},
      {"Mean", By<&NodeLowering::Mean>},
      {"Mod", By<&NodeLowering::Mod>},
      {"Pow", By<&NodeLowering::Pow>},
      {"QuantizeLinear", By<&NodeLowering::Quantise>},
  };
  return kRules;
}

Result<Ref> NodeLowering::Run() {
  const auto names_this = [&](const auto& row) { return row.op == node_.op; };
  const auto rules = Rules();
  const auto rule = std::find_if(rules.begin(), rules.end(), names_this);
  if (rule != rules.end()) return rule->lower(*this);
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), names_this);
  if (row != std::end(kRows)) return One(*row);
  return Unsupported("computes element-wise operators only; this is a {}", node_.op);
}

}  // namespace

Result<Ref> LowerNode(Lowering& lowering, const ir::Node& node) {
  return NodeLowering(lowering, node).Run();
}

std::vector<std::string_view> LoweredOperators() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.op);
  for (const NodeLowering::Rule& rule : NodeLowering::Rules()) names.push_back(rule.op);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace fettle::kernels::expr
