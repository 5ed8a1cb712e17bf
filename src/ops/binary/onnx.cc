// Import rules of what trainers of binary networks write, as the documents of QONNX define it.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/memory_budget.h"
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

/// The constant scalar behind input `i`.
Result<double> NumberAt(const ImportContext& context, size_t i) {
  const Constant* constant = context.constant(i);
  if (constant == nullptr || constant->elements() != 1)
    return Unsupported("input {} is not a constant number", i);
  return constant->GetDouble(0);
}

ir::ValueId Number(ImportContext& context, double value) {
  return context.ConstScalar(DType::kF32, value);
}

/// x away from 0 by `shift`, then to an integer by `op`, of its size alone.
ir::ValueId RoundSize(ImportContext& context, ir::ValueId x, std::string_view op, double shift) {
  ir::ValueId size = context.Emit1("Abs", {x});
  if (shift != 0) size = context.Emit1("Add", {size, Number(context, shift)});
  return context.Emit1("Mul", {context.Emit1("Sign", {x}), context.Emit1(op, {size})});
}

/// The modes of QONNX's IntQuant.
Result<ir::ValueId> RoundBy(ImportContext& context, ir::ValueId x, std::string mode) {
  std::ranges::transform(mode, mode.begin(), [](unsigned char c) { return std::toupper(c); });
  if (mode == "ROUND" || mode == "HALF_EVEN") return context.Emit1("Round", {x});
  if (mode == "CEIL") return context.Emit1("Ceil", {x});
  if (mode == "FLOOR") return context.Emit1("Floor", {x});
  if (mode == "UP") return RoundSize(context, x, "Ceil", 0);
  if (mode == "DOWN" || mode == "ROUND_TO_ZERO") return RoundSize(context, x, "Floor", 0);
  if (mode == "HALF_UP") return RoundSize(context, x, "Floor", 0.5);
  if (mode == "HALF_DOWN") return RoundSize(context, x, "Ceil", -0.5);
  return Unsupported("attribute 'rounding_mode': '{}'", mode);
}

/// Quant or IntQuant(x, scale, zero, bits) of QONNX and Brevitas: x / scale + zero, clipped to
/// integers of so many bits and rounded, back to floats. One signed bit is -1 or 1.
Status ImportIntQuant(ImportContext& context) {
  if (context.num_inputs() != 4) return InvalidModel("expected 4 inputs");
  ASSIGN_OR_RETURN(const double bits, NumberAt(context, 3));
  if (!(bits >= 1 && bits <= 24)) return Unsupported("{} bits", bits);
  const bool is_signed = context.attributes().Int("signed", 1) != 0;
  const bool narrow = context.attributes().Int("narrow", 1) != 0;
  const ir::ValueId scale = context.input(1), zero = context.input(2);
  ir::ValueId x = context.Emit1("Add", {context.Emit1("Div", {context.input(0), scale}), zero});
  if (bits == 1 && is_signed) {
    const ir::ValueId is_one = context.Emit1("GreaterOrEqual", {x, Number(context, 0)});
    x = context.Emit1("Where", {is_one, Number(context, 1), Number(context, -1)});
  } else {
    const double steps = std::exp2(is_signed ? bits - 1 : bits);
    const double high = steps - (!is_signed && narrow ? 2 : 1);
    const double low = is_signed ? (narrow ? 1 : 0) - steps : 0;
    x = context.Emit1("Clip", {x, Number(context, low), Number(context, high)});
    ASSIGN_OR_RETURN(x, RoundBy(context, x, context.attributes().Text("rounding_mode", "ROUND")));
  }
  context.Bind(0, context.Emit1("Mul", {context.Emit1("Sub", {x, zero}), scale}));
  return OkStatus();
}

/// Where the channels of MultiThreshold's x lie, and x as they are compared there.
struct Channels {
  ir::ValueId x;
  int behind;    // axes behind them
  bool is_flat;  // x has the shape [batch, channels, all else]
};

Channels FindChannels(ImportContext& context, int64_t count) {
  const ir::ValueId x = context.input(0);
  // NHWC, NWC and NC.
  const bool last = context.attributes().Text("data_layout", "NCHW").ends_with("C");
  if (count == 1 || last) return {x, 0, false};
  if (const std::optional<int> rank = context.rank(0)) return {x, std::max(0, *rank - 2), false};
  return {context.Emit1("Reshape", {x, context.ConstInts({0, 0, -1})}), 1, true};
}

/// MultiThreshold(x, thresholds [channels or 1, count]) of QONNX: how many thresholds of its
/// channel x reaches, times out_scale, plus out_bias.
Status ImportMultiThreshold(ImportContext& context) {
  constexpr int64_t kMost = 255;
  const Constant* thresholds = context.num_inputs() == 2 ? context.constant(1) : nullptr;
  if (thresholds == nullptr || thresholds->shape().rank() != 2)
    return Unsupported("thresholds that are not a constant matrix");
  const int64_t channels = thresholds->shape()[0], count = thresholds->shape()[1];
  if (count < 1 || count > kMost) return Unsupported("{} thresholds", count);
  const Channels at = FindChannels(context, channels);
  std::vector<int64_t> extents(1 + at.behind, 1);
  extents[0] = channels;
  ir::ValueId sum = ir::kAbsent;
  const MemoryScope scope(MemoryBudget::Unbounded());
  for (int64_t i = 0; i < count; ++i) {
    std::vector<float> column(channels);
    for (int64_t c = 0; c < channels; ++c)
      column[c] = static_cast<float>(thresholds->GetDouble(c * count + i));
    const ir::ValueId least =
        context.Const(Constant::FromTensor(Tensor::FromVector(Shape(extents), column).value()));
    const ir::ValueId reached = context.Emit1(
        "Where",
        {context.Emit1("GreaterOrEqual", {at.x, least}), Number(context, 1), Number(context, 0)});
    sum = i == 0 ? reached : context.Emit1("Add", {sum, reached});
  }
  const double scale = context.attributes().Float("out_scale", 1);
  const double bias = context.attributes().Float("out_bias", 0);
  if (scale != 1) sum = context.Emit1("Mul", {sum, Number(context, scale)});
  if (bias != 0) sum = context.Emit1("Add", {sum, Number(context, bias)});
  if (at.is_flat)
    sum = context.Emit1("Reshape", {sum, context.Emit1("Shape", {context.input(0)})},
                        {{"allowzero", int64_t{1}}});
  context.Bind(0, sum);
  return OkStatus();
}

/// XnorPopcountMatMul(a, b) of QONNX, both of 0 and 1: how many bits of a row and a column agree.
Status ImportXnorPopcount(ImportContext& context) {
  const Constant* b = context.num_inputs() == 2 ? context.constant(1) : nullptr;
  if (b == nullptr || b->shape().rank() != 2)
    return Unsupported("weights that are not a constant matrix");
  const auto signs = [&](ir::ValueId bits) {
    return context.Emit1("Sub",
                         {context.Emit1("Mul", {bits, Number(context, 2)}), Number(context, 1)});
  };
  const ir::ValueId sum =
      context.Emit1("MatMul", {signs(context.input(0)), signs(context.input(1))});
  const auto depth = static_cast<double>(b->shape()[0]);
  context.Bind(0, context.Emit1("Mul", {context.Emit1("Add", {sum, Number(context, depth)}),
                                        Number(context, 0.5)}));
  return OkStatus();
}

constexpr std::string_view kFinn = "finn.custom_op.general", kBrevitas = "onnx.brevitas",
                           kQonnx = "qonnx.custom_op.general";

constexpr ImportRule kBinaryRules[] = {
    {.op_type = "BipolarQuant", .run = ImportBipolarQuant, .domain = kFinn},
    {.op_type = "BipolarQuant", .run = ImportBipolarQuant, .domain = kBrevitas},
    {.op_type = "BipolarQuant", .run = ImportBipolarQuant, .domain = kQonnx},
    {.op_type = "FakeQuantize", .run = ImportFakeQuantize, .domain = "org.openvinotoolkit"},
    {.op_type = "IntQuant", .run = ImportIntQuant, .domain = kBrevitas},
    {.op_type = "IntQuant", .run = ImportIntQuant, .domain = kQonnx},
    {.op_type = "MultiThreshold", .run = ImportMultiThreshold, .domain = kFinn},
    {.op_type = "MultiThreshold", .run = ImportMultiThreshold, .domain = kQonnx},
    {.op_type = "Quant", .run = ImportIntQuant, .domain = kFinn},
    {.op_type = "Quant", .run = ImportIntQuant, .domain = kBrevitas},
    {.op_type = "Quant", .run = ImportIntQuant, .domain = kQonnx},
    {.op_type = "XnorPopcountMatMul", .run = ImportXnorPopcount, .domain = kFinn},
    {.op_type = "XnorPopcountMatMul", .run = ImportXnorPopcount, .domain = kQonnx},
};

}  // namespace

std::span<const ImportRule> BinaryImports() { return kBinaryRules; }

}  // namespace fettle::ops
