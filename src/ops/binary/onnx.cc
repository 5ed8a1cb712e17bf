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

/// FakeQuantize(x, low, high, out_low, out_high) of OpenVINO, which NNCF writes into ONNX: x
/// clipped to [low, high], one of `levels` steps there, between out_low and out_high.
Status ImportFakeQuantize(ImportContext& context) {
  if (context.num_inputs() != 5) return InvalidModel("expected 5 inputs");
  const int64_t levels = context.attributes().Int("levels", 0);
  if (levels < 2) return InvalidModel("attribute 'levels' is {}", levels);
  const auto number = [&](double value) { return context.ConstScalar(DType::kF32, value); };
  const ir::ValueId low = context.input(1), high = context.input(2), out_low = context.input(3);
  const ir::ValueId clipped =
      context.Emit1("Min", {context.Emit1("Max", {context.input(0), low}), high});
  const ir::ValueId share = context.Emit1(
      "Div", {context.Emit1("Sub", {clipped, low}), context.Emit1("Sub", {high, low})});
  const ir::ValueId steps = number(static_cast<double>(levels - 1));
  const ir::ValueId at =
      context.Emit1("Div", {context.Emit1("Round", {context.Emit1("Mul", {share, steps})}), steps});
  const ir::ValueId range = context.Emit1("Sub", {context.input(4), out_low});
  context.Bind(0, context.Emit1("Add", {context.Emit1("Mul", {at, range}), out_low}));
  return OkStatus();
}

constexpr ImportRule kBinaryRules[] = {
    {.op_type = "BipolarQuant", .run = ImportBipolarQuant, .domain = "finn.custom_op.general"},
    {.op_type = "BipolarQuant", .run = ImportBipolarQuant, .domain = "onnx.brevitas"},
    {.op_type = "BipolarQuant", .run = ImportBipolarQuant, .domain = "qonnx.custom_op.general"},
    {.op_type = "FakeQuantize", .run = ImportFakeQuantize, .domain = "org.openvinotoolkit"},
};

}  // namespace

std::span<const ImportRule> BinaryImports() { return kBinaryRules; }

}  // namespace fettle::ops
