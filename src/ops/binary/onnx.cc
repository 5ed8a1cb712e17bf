// Import rules of what trainers of binary networks write.
#include "ops/import.h"

namespace fettle::ops {
namespace {

/// BipolarQuant(x, scale) of Brevitas and QONNX: scale where x >= 0, else -scale.
Status ImportBipolarQuant(ImportContext& context) {
  if (context.num_inputs() != 2) return InvalidModel("expected 2 inputs");
  const ir::ValueId scale = context.input(1);
  const ir::ValueId is_one =
      context.Emit1("GreaterOrEqual", {context.input(0), context.ConstScalar(DType::kF32, 0)});
  context.Bind(0, context.Emit1("Where", {is_one, scale, context.Emit1("Neg", {scale})}));
  return OkStatus();
}

constexpr ImportRule kBinaryRules[] = {
    {.op_type = "BipolarQuant", .run = ImportBipolarQuant, .domain = "finn.custom_op.general"},
    {.op_type = "BipolarQuant", .run = ImportBipolarQuant, .domain = "onnx.brevitas"},
    {.op_type = "BipolarQuant", .run = ImportBipolarQuant, .domain = "qonnx.custom_op.general"},
};

}  // namespace

std::span<const ImportRule> BinaryImports() { return kBinaryRules; }

}  // namespace fettle::ops
