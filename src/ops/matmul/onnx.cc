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

/// alpha * A' * B', with the last two axes of an operand swapped where it is transposed. Ranks are
/// not known yet, which is why Einsum does the swap.
Status ImportFusedMatMul(ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  if (from.Int("transBatchA") != 0 || from.Int("transBatchB") != 0)
    return Unsupported("attributes 'transBatchA' and 'transBatchB' are not supported");
  const auto operand = [&](size_t i, const char* transposed) {
    if (from.Int(transposed) == 0) return context.input(i);
    return context.Emit1("Einsum", {context.input(i)}, {{"equation", std::string("...ij->...ji")}});
  };
  const ir::ValueId a = operand(0, "transA"), b = operand(1, "transB");
  ir::ValueId y = context.Emit1("MatMul", {a, b});
  const double alpha = from.Float("alpha", 1);
  if (alpha != 1) {
    const ir::ValueId factor = context.ConstScalar(DType::kF32, alpha);
    y = context.Emit1("Mul", {y, context.Emit1("CastLike", {factor, y})});
  }
  context.Bind(0, y);
  return OkStatus();
}

constexpr ImportRule kDet[] = {{.op_type = "Det"}};
constexpr ImportRule kEinsum[] = {{.op_type = "Einsum"}};
constexpr ImportRule kGemm[] = {
    {.op_type = "Gemm"}, {.op_type = "FusedGemm", .run = ImportFusedGemm, .domain = kMicrosoft}};
constexpr ImportRule kMatMul[] = {
    {.op_type = "MatMul"},
    {.op_type = "FusedMatMul", .run = ImportFusedMatMul, .domain = kMicrosoft},
    {.op_type = "TransposeMatMul", .run = ImportFusedMatMul, .domain = kMicrosoft}};
constexpr ImportRule kMatMulInteger[] = {{.op_type = "MatMulInteger"}};

}  // namespace

std::span<const ImportRule> MatMulImports(std::string_view op) {
  if (op == "Det") return kDet;
  if (op == "Einsum") return kEinsum;
  if (op == "Gemm") return kGemm;
  if (op == "MatMul") return kMatMul;
  return kMatMulInteger;
}

}  // namespace fettle::ops
