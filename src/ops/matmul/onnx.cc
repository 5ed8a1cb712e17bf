#include "ops/matmul/onnx.h"

#include <string>

#include "ops/elementwise/op.h"
#include "ops/import.h"

namespace fettle::ops {
namespace {

/// Gemm, then the activation that attribute 'activation' names.
Status ImportFusedGemm(ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  ir::Attributes gemm;
  for (const char* name : {"alpha", "beta", "transA", "transB"}) {
    if (const ir::Attribute* value = from.Find(name)) gemm.Set(name, *value);
  }
  ir::ValueId y = context.Emit1("Gemm", context.node().inputs, std::move(gemm));
  const std::string activation = from.Text("activation");
  if (!activation.empty()) {
    ir::Attributes attributes;
    for (const char* name : {"alpha", "beta", "gamma"}) {
      const std::string long_name = fmt::format("activation_{}", name);
      if (from.Has(long_name)) attributes.Set(name, from.Float(long_name));
    }
    if (FindUnary(activation) == nullptr)
      return Unsupported("attribute 'activation': '{}' is not supported", activation);
    y = context.Emit1(activation, {y}, std::move(attributes));
  }
  context.Bind(0, y);
  return OkStatus();
}

/// alpha * A' * B', with the last two axes of an operand swapped where it is transposed, and its
/// first axis behind the other batch axes where those are. Ranks are not known yet, which is why
/// Einsum does the swaps.
Status ImportFusedMatMul(ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  const auto operand = [&](size_t i, const char* transposed, const char* batch) {
    const bool swap = from.Int(transposed) != 0;
    if (from.Int(batch) == 0 && !swap) return context.input(i);
    const char* equation = from.Int(batch) == 0 ? "...ij->...ji"
                           : swap               ? "i...j->...ji"
                                                : "i...j->...ij";
    return context.Emit1("Einsum", {context.input(i)}, {{"equation", std::string(equation)}});
  };
  const ir::ValueId a = operand(0, "transA", "transBatchA");
  const ir::ValueId b = operand(1, "transB", "transBatchB");
  ir::ValueId y = context.Emit1("MatMul", {a, b});
  const double alpha = from.Float("alpha", 1);
  if (alpha != 1) {
    const ir::ValueId factor = context.ConstScalar(DType::kF32, alpha);
    y = context.Emit1("Mul", {y, context.Emit1("CastLike", {factor, y})});
  }
  context.Bind(0, y);
  return OkStatus();
}

/// The sums of MatMulInteger as `scale` times f32, plus the bias at input `bias`.
void BindScaled(ImportContext& context, const std::vector<ir::ValueId>& operands,
                ir::ValueId scale_a, ir::ValueId scale_b, size_t bias) {
  const ir::ValueId sums = context.Emit1("Cast", {context.Emit1("MatMulInteger", operands)},
                                         {{"to", std::string("f32")}});
  ir::ValueId y = context.Emit1("Mul", {sums, context.Emit1("Mul", {scale_a, scale_b})});
  if (context.has_input(bias)) y = context.Emit1("Add", {y, context.input(bias)});
  context.Bind(0, y);
}

/// Inputs A, B, their scales and zero points, bias.
Status ImportMatMulIntegerToFloat(ImportContext& context) {
  BindScaled(context, {context.input(0), context.input(1), context.input(4), context.input(5)},
             context.input(2), context.input(3), 6);
  return OkStatus();
}

/// Inputs A in f32, B, its scale and zero point, bias.
Status ImportDynamicQuantizeMatMul(ImportContext& context) {
  const std::vector<ir::ValueId> a =
      context.Emit("DynamicQuantizeLinear", {context.input(0)}, {}, 3);
  BindScaled(context, {a[0], context.input(1), a[2], context.input(3)}, a[1], context.input(2), 4);
  return OkStatus();
}

constexpr ImportRule kDet[] = {{.op_type = "Det"}};
constexpr ImportRule kEinsum[] = {{.op_type = "Einsum"}};
constexpr ImportRule kGemm[] = {
    {.op_type = "Gemm"}, {.op_type = "FusedGemm", .run = ImportFusedGemm, .domain = kMicrosoft}};
constexpr ImportRule kInverse[] = {{.op_type = "Inverse", .domain = kMicrosoft}};
constexpr ImportRule kMatMul[] = {
    {.op_type = "MatMul"},
    {.op_type = "FusedMatMul", .run = ImportFusedMatMul, .domain = kMicrosoft},
    {.op_type = "MatMulBnb4", .run = ImportMatMulBnb4, .domain = kMicrosoft},
    {.op_type = "MoE", .run = ImportMoE, .domain = kMicrosoft},
    {.op_type = "QMoE", .run = ImportQMoE, .domain = kMicrosoft},
    {.op_type = "TransposeMatMul", .run = ImportFusedMatMul, .domain = kMicrosoft}};
constexpr ImportRule kMatMulInteger[] = {
    {.op_type = "MatMulInteger"},
    {.op_type = "DynamicQuantizeMatMul", .run = ImportDynamicQuantizeMatMul, .domain = kMicrosoft},
    {.op_type = "MatMulIntegerToFloat", .run = ImportMatMulIntegerToFloat, .domain = kMicrosoft}};

}  // namespace

std::span<const ImportRule> MatMulImports(std::string_view op) {
  if (op == "Det") return kDet;
  if (op == "Einsum") return kEinsum;
  if (op == "Gemm") return kGemm;
  if (op == "Inverse") return kInverse;
  if (op == "MatMul") return kMatMul;
  return kMatMulInteger;
}

}  // namespace fettle::ops
