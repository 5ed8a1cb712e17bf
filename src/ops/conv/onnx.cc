// Import rules of convolutions.
#include "ops/import.h"

namespace fettle::ops {
namespace {

/// com.microsoft.FusedConv's activation as plain operators behind `x`.
Result<ir::ValueId> EmitActivation(ImportContext& context, ir::ValueId x) {
  const std::string kind = context.attributes().Text("activation");
  const std::vector<double> params = context.attributes().Floats("activation_params");
  const auto param = [&](size_t i, double fallback) {
    return i < params.size() ? params[i] : fallback;
  };
  if (kind.empty()) return x;
  if (kind == "Relu" || kind == "Tanh" || kind == "Sigmoid") return context.Emit1(kind, {x});
  if (kind == "LeakyRelu") return context.Emit1(kind, {x}, {{"alpha", param(0, 0.01)}});
  if (kind == "HardSigmoid")
    return context.Emit1(kind, {x}, {{"alpha", param(0, 0.2)}, {"beta", param(1, 0.5)}});
  if (kind == "Clip") {
    return context.Emit1(kind, {x, context.ConstScalar(DType::kF32, param(0, -3.402823e38)),
                                context.ConstScalar(DType::kF32, param(1, 3.402823e38))});
  }
  return Unsupported("attribute 'activation': '{}' is not supported", kind);
}

Status ImportFusedConv(ImportContext& context) {
  ir::Attributes attributes = context.attributes();
  attributes.Erase("activation");
  attributes.Erase("activation_params");
  ir::ValueId y =
      context.Emit1("Conv", {context.input(0), context.input(1), context.input(2)}, attributes);
  if (context.has_input(3)) y = context.Emit1("Add", {y, context.input(3)});
  ASSIGN_OR_RETURN(y, EmitActivation(context, y));
  context.Bind(0, y);
  return OkStatus();
}

constexpr ImportRule kConv[] = {
    {.op_type = "Conv"},
    {.op_type = "FusedConv", .run = ImportFusedConv, .domain = "com.microsoft"},
};
constexpr ImportRule kConvInteger[] = {{.op_type = "ConvInteger", .since = 10}};
constexpr ImportRule kDeformConv[] = {{.op_type = "DeformConv", .since = 19}};

}  // namespace

std::span<const ImportRule> ConvImports() { return kConv; }
std::span<const ImportRule> ConvIntegerImports() { return kConvInteger; }
std::span<const ImportRule> DeformConvImports() { return kDeformConv; }

}  // namespace fettle::ops
