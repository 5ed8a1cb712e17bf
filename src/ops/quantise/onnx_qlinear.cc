// Operators on quantised operands: each operand is dequantised, the plain operator runs, its result
// is quantised again.
#include <string>
#include <vector>

#include "ops/channels_last.h"
#include "ops/import.h"
#include "ops/quantise/onnx.h"

namespace fettle::ops {
namespace {

/// Inputs i, i + 1, i + 2 are a tensor, its scale and its zero point.
ir::ValueId Dequantised(ImportContext& context, size_t i, int64_t axis = 0) {
  return context.Emit1("DequantizeLinear",
                       {context.input(i), context.input(i + 1), context.input(i + 2)},
                       {{"axis", axis}});
}

/// Binds output 0 to `y`, quantised by the scale and zero point at inputs i, i + 1. Without a zero
/// point it has the type of input `like`.
void BindQuantised(ImportContext& context, ir::ValueId y, size_t i, size_t like) {
  ir::ValueId zero = context.input(i + 1);
  if (zero == ir::kAbsent)
    zero = context.Emit1("CastLike", {context.ConstScalar(DType::kI32, 0), context.input(like)});
  context.Bind(
      0, context.Emit1("QuantizeLinear", {y, context.input(i), zero}, {{"axis", int64_t{1}}}));
}

/// An int32 bias, whose scale is that of the products that it is added to.
ir::ValueId DequantisedBias(ImportContext& context, size_t bias, size_t scale_a, size_t scale_b) {
  if (!context.has_input(bias)) return ir::kAbsent;
  const ir::ValueId scale = context.Emit1("Mul", {context.input(scale_a), context.input(scale_b)});
  return context.Emit1("DequantizeLinear", {context.input(bias), scale}, {{"axis", int64_t{-1}}});
}

ir::Attributes Without(const ImportContext& context, const char* name) {
  ir::Attributes attributes = context.attributes();
  attributes.Erase(name);
  return attributes;
}

/// x, w, bias?: inputs 0-2, 3-5, 8; y: 6-7.
Status ImportConv(ImportContext& context) {
  const bool last = context.attributes().Int("channels_last", 0) != 0;
  ir::ValueId x = Dequantised(context, 0);
  if (last) x = ChannelsFirst(context, x);
  const ir::ValueId w = Dequantised(context, 3, 0);
  const ir::ValueId bias = DequantisedBias(context, 8, 1, 4);
  ir::ValueId y = context.Emit1("Conv", {x, w, bias}, Without(context, "channels_last"));
  if (last) y = ChannelsLast(context, y);
  BindQuantised(context, y, 6, 0);
  return OkStatus();
}

/// Scales of A may go by rows, those of B by columns.
Status ImportMatMul(ImportContext& context) {
  const ir::ValueId a = Dequantised(context, 0, -2), b = Dequantised(context, 3, -1);
  BindQuantised(context, context.Emit1("MatMul", {a, b}), 6, 0);
  return OkStatus();
}

/// A, B: inputs 0-2, 3-5; C: 6, an int32 bias in the scale alpha * a * b; Y: 7-8, absent where the
/// result stays in fp32.
Status ImportGemm(ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  const int64_t trans_b = from.Int("transB", 0);
  const ir::ValueId a = Dequantised(context, 0);
  const ir::ValueId b = Dequantised(context, 3, trans_b != 0 ? 0 : 1);
  const double alpha = from.Float("alpha", 1);
  const ir::ValueId bias = DequantisedBias(context, 6, 1, 4);
  const ir::ValueId y = context.Emit1(
      "Gemm", {a, b, bias},
      {{"alpha", alpha}, {"beta", alpha}, {"transA", from.Int("transA", 0)}, {"transB", trans_b}});
  if (context.has_input(7) && context.has_input(8)) {
    BindQuantised(context, y, 7, 0);
  } else {
    context.Bind(0, y);
  }
  return OkStatus();
}

/// Two operands: A 0-2, B 3-5, C 6-7. The name is that of the plain operator with a prefix.
Status ImportBinary(ImportContext& context) {
  const std::string op = context.node().op_type.substr(std::string_view("QLinear").size());
  const ir::ValueId a = Dequantised(context, 0), b = Dequantised(context, 3);
  BindQuantised(context, context.Emit1(op, {a, b}), 6, 0);
  return OkStatus();
}

/// One operand: X 0-2, Y 3-4.
Status ImportUnary(ImportContext& context) {
  const bool last = context.attributes().Int("channels_last", 0) != 0;
  const std::string op = context.node().op_type.substr(std::string_view("QLinear").size());
  ir::ValueId x = Dequantised(context, 0);
  if (last) x = ChannelsFirst(context, x);
  ir::ValueId y = context.Emit1(op, {x}, Without(context, "channels_last"));
  if (last) y = ChannelsLast(context, y);
  BindQuantised(context, y, 3, 0);
  return OkStatus();
}

Status ImportSoftmax(ImportContext& context) {
  ir::Attributes attributes = {{"axis", context.attributes().Int("axis", -1)}};
  if (context.attributes().Int("opset", 13) < 13) attributes.Set("flatten_2d", int64_t{1});
  BindQuantised(context, context.Emit1("Softmax", {Dequantised(context, 0)}, std::move(attributes)),
                3, 0);
  return OkStatus();
}

/// Y 0-1, then a tensor, a scale and a zero point for each part.
Status ImportConcat(ImportContext& context) {
  if (context.num_inputs() < 5 || context.num_inputs() % 3 != 2)
    return InvalidModel("expected 2 + 3n inputs, got {}", context.num_inputs());
  std::vector<ir::ValueId> parts;
  for (size_t i = 2; i < context.num_inputs(); i += 3) parts.push_back(Dequantised(context, i));
  BindQuantised(context,
                context.Emit1("Concat", parts, {{"axis", context.attributes().Int("axis")}}), 0, 2);
  return OkStatus();
}

/// The condition, X 1-3, Y 4-6, Z 7-8.
Status ImportWhere(ImportContext& context) {
  const ir::ValueId x = Dequantised(context, 1), y = Dequantised(context, 4);
  BindQuantised(context, context.Emit1("Where", {context.input(0), x, y}), 7, 1);
  return OkStatus();
}

constexpr ImportRule kQuantiseLinearRules[] = {
    // keep-sorted start
    {.op_type = "QGemm", .run = ImportGemm, .domain = kMicrosoft},
    {.op_type = "QLinearAdd", .run = ImportBinary, .domain = kMicrosoft},
    {.op_type = "QLinearAveragePool", .run = ImportUnary, .domain = kMicrosoft},
    {.op_type = "QLinearConcat", .run = ImportConcat, .domain = kMicrosoft},
    {.op_type = "QLinearConv", .run = ImportConv, .domain = kMicrosoft},
    {.op_type = "QLinearConv", .run = ImportConv},
    {.op_type = "QLinearGlobalAveragePool", .run = ImportUnary, .domain = kMicrosoft},
    {.op_type = "QLinearLeakyRelu", .run = ImportUnary, .domain = kMicrosoft},
    {.op_type = "QLinearMatMul", .run = ImportMatMul},
    {.op_type = "QLinearMul", .run = ImportBinary, .domain = kMicrosoft},
    {.op_type = "QLinearSigmoid", .run = ImportUnary, .domain = kMicrosoft},
    {.op_type = "QLinearSoftmax", .run = ImportSoftmax, .domain = kMicrosoft},
    {.op_type = "QLinearWhere", .run = ImportWhere, .domain = kMicrosoft},
    // keep-sorted end
};

}  // namespace

std::span<const ImportRule> QLinearRules() { return kQuantiseLinearRules; }

}  // namespace fettle::ops
