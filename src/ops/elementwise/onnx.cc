#include "ops/elementwise/onnx.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ops/elementwise/op.h"
#include "ops/import.h"
#include "ops/onnx_types.h"

namespace fettle::ops {
namespace {

constexpr int64_t kMaxBroadcastAxis = 16;
/// Operators that broadcast by attribute below opset 7.
constexpr std::string_view kBroadcastAxis[] = {"Add", "And", "Div", "Equal", "Greater", "Less",
                                               "Mul", "Or",  "Pow", "Sub",   "Xor"};

/// Bounds were attributes up to opset 10. They stay f32 whatever float type the input turns out to
/// have.
Status ImportClipAttributes(ImportContext& context) {
  const auto bound = [&](std::string_view name) {
    if (!context.attributes().Has(name)) return ir::kAbsent;
    return context.ConstScalar(DType::kF32, context.attributes().Float(name));
  };
  const ir::ValueId low = bound("min"), high = bound("max");
  context.Bind(0, context.Emit1("Clip", {context.input(0), low, high}));
  return OkStatus();
}

/// A number since opset 6, before that a name.
Result<DType> TargetType(const ImportContext& context) {
  const ir::Attribute* to = context.attributes().Find("to");
  if (to == nullptr) return InvalidModel("attribute 'to' is missing");
  if (const auto* name = std::get_if<std::string>(to)) return DTypeFromOnnxName(*name);
  return DTypeFromOnnx(context.attributes().Int("to"));
}

Status ImportCast(ImportContext& context) {
  ir::Attributes attributes;
  ASSIGN_OR_RETURN(const DType to, TargetType(context));
  attributes.Set("to", std::string(DTypeName(to)));
  if (context.attributes().Int("saturate", 1) == 0) attributes.Set("saturate", int64_t{0});
  context.Copy("Cast", std::move(attributes));
  return OkStatus();
}

Status ImportBitCast(ImportContext& context) {
  ASSIGN_OR_RETURN(const DType to, TargetType(context));
  context.Copy("BitCast", {{"to", std::string(DTypeName(to))}});
  return OkStatus();
}

/// Below opset 7 the shape of B may stand for the axes of A from `axis` on. The rank of A is not
/// known here, so A is seen as [its first axes, the axes of B, rest] for the time.
Status ImportBroadcastAxis(ImportContext& context) {
  const std::string& op = context.node().op_type;
  if (!context.attributes().Has("axis") || context.attributes().Int("broadcast") == 0) {
    context.Copy(op, {});
    return OkStatus();
  }
  const int64_t axis = context.attributes().Int("axis");
  const std::optional<int> b_rank = context.rank(1);
  if (!b_rank.has_value() || axis < 0 || axis > kMaxBroadcastAxis)
    return Unsupported("attribute 'axis': {} needs an operand of known rank", axis);
  Dims a_dims(axis + *b_rank, 0), b_dims(*b_rank, 0);
  a_dims.push_back(-1);
  b_dims.push_back(1);
  const ir::ValueId x = context.input(0);
  const ir::ValueId a = context.Emit1("Reshape", {x, context.ConstInts(a_dims)});
  const ir::ValueId b = context.Emit1("Reshape", {context.input(1), context.ConstInts(b_dims)});
  const ir::ValueId y = context.Emit1(op, {a, b});
  context.Bind(0, context.Emit1("Reshape", {y, context.Emit1("Shape", {x})}));
  return OkStatus();
}

/// Below opset 7 a slope of rank 1 belongs to axis 1. The rank of x is not known here, so x is seen
/// as [N, C, rest] for the time.
Status ImportPReluOfChannels(ImportContext& context) {
  const ir::ValueId x = context.input(0);
  const ir::ValueId flat = context.Emit1("Reshape", {x, context.ConstInts({0, 0, -1})});
  const ir::ValueId slope =
      context.Emit1("Reshape", {context.input(1), context.ConstInts({-1, 1})});
  const ir::ValueId y = context.Emit1("PRelu", {flat, slope});
  context.Bind(0, context.Emit1("Reshape", {y, context.Emit1("Shape", {x})}));
  return OkStatus();
}

/// Gelu of input 0, plus a bias where there is one.
Status EmitGelu(ImportContext& context, const char* approximate) {
  ir::ValueId x = context.input(0);
  if (context.has_input(1)) x = context.Emit1("Add", {x, context.input(1)});
  context.Bind(0, context.Emit1("Gelu", {x}, {{"approximate", std::string(approximate)}}));
  return OkStatus();
}
Status ImportGelu(ImportContext& context) { return EmitGelu(context, "none"); }
Status ImportFastGelu(ImportContext& context) { return EmitGelu(context, "tanh"); }

/// x * Sigmoid(alpha * x), which is Swish with the alpha of the sigmoid approximation.
Status ImportQuickGelu(ImportContext& context) {
  const double alpha = context.attributes().Float("alpha", 1.702);
  context.Bind(0, context.Emit1("Swish", {context.input(0)}, {{"alpha", alpha}}));
  return OkStatus();
}

/// Swish of the gate, times the value.
Status ImportSwiGlu(ImportContext& context) {
  const ir::ValueId gate = context.Emit1("Swish", {context.input(0)},
                                         {{"alpha", context.attributes().Float("alpha", 1)}});
  context.Bind(0, context.Emit1("Mul", {gate, context.input(1)}));
  return OkStatus();
}

struct Extra {
  std::string_view op;
  ImportRule rule;
};

/// Rules beside "the same name, copied as it is, from opset `since` on".
const Extra kExtras[] = {
    {"BitCast", {.op_type = "BitCast", .since = 26, .run = ImportBitCast}},
    {"Cast", {.op_type = "Cast", .run = ImportCast}},
    {"Clip", {.op_type = "Clip", .until = 10, .run = ImportClipAttributes}},
    {"Clip", {.op_type = "Clip", .since = 11}},
    {"Gelu", {.op_type = "BiasGelu", .run = ImportGelu, .domain = kMicrosoft}},
    {"Gelu", {.op_type = "FastGelu", .run = ImportFastGelu, .domain = kMicrosoft}},
    {"Gelu", {.op_type = "Gelu", .run = ImportGelu, .domain = kMicrosoft}},
    {"PRelu", {.op_type = "PRelu", .until = 6, .run = ImportPReluOfChannels}},
    {"PRelu", {.op_type = "PRelu", .since = 7}},
    {"Swish", {.op_type = "SwiGLU", .since = 28, .run = ImportSwiGlu}},
    {"Swish", {.op_type = "QuickGelu", .run = ImportQuickGelu, .domain = kMicrosoft}},
};

std::map<std::string_view, std::vector<ImportRule>> MakeRules() {
  std::map<std::string_view, std::vector<ImportRule>> rules;
  const auto add = [&](std::string_view op) {
    const bool by_axis = std::ranges::find(kBroadcastAxis, op) != std::end(kBroadcastAxis);
    if (by_axis) rules[op].push_back({.op_type = op, .until = 6, .run = ImportBroadcastAxis});
    rules[op].push_back({.op_type = op, .since = by_axis ? 7 : 1});
  };
  for (const UnaryRow& row : UnaryRows()) add(row.name);
  for (const FoldRow& row : FoldRows()) {
    if (row.name != "PRelu") add(row.name);
  }
  for (std::string_view op : {"CastLike", "Pow", "Where"}) add(op);
  for (const Extra& extra : kExtras) rules[extra.op].push_back(extra.rule);
  return rules;
}

}  // namespace

std::span<const ImportRule> ElementwiseImports(std::string_view op) {
  static const auto rules = MakeRules();
  const auto it = rules.find(op);
  FETTLE_CHECK(it != rules.end(), "every operator has a rule");
  return it->second;
}

}  // namespace fettle::ops
