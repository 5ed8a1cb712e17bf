#include "ops/quantise/onnx.h"

#include <vector>

#include "ops/import.h"
#include "ops/onnx_types.h"

namespace fettle::ops {
namespace {

Status ImportLinear(ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  ir::Attributes attributes = {{"axis", from.Int("axis", 1)}};
  if (from.Int("block_size", 0) != 0) attributes.Set("block_size", from.Int("block_size"));
  if (from.Int("output_dtype", 0) != 0) {
    ASSIGN_OR_RETURN(const DType dtype, DTypeFromOnnx(from.Int("output_dtype")));
    attributes.Set("output_dtype", std::string(DTypeName(dtype)));
  }
  if (from.Int("saturate", 1) == 0)
    return Unsupported("attribute 'saturate': 8-bit floats always saturate");
  context.Copy(context.node().op_type, std::move(attributes));
  return OkStatus();
}

constexpr ImportRule kDynamic[] = {{.op_type = "DynamicQuantizeLinear"}};
constexpr ImportRule kQuantize[] = {
    {.op_type = "QuantizeLinear", .run = ImportLinear},
    {.op_type = "QuantizeLinear", .run = ImportLinear, .domain = kMicrosoft}};

std::vector<ImportRule> DequantizeRules() {
  std::vector<ImportRule> rules = {
      {.op_type = "DequantizeLinear", .run = ImportLinear},
      {.op_type = "DequantizeLinear", .run = ImportLinear, .domain = kMicrosoft},
      {.op_type = "MatMulNBits", .run = ImportMatMulNBits, .domain = kMicrosoft}};
  rules.insert(rules.end(), QLinearRules().begin(), QLinearRules().end());
  return rules;
}

}  // namespace

std::span<const ImportRule> QuantiseImports(std::string_view op) {
  static const std::vector<ImportRule> dequantize = DequantizeRules();
  if (op == "DequantizeLinear") return dequantize;
  if (op == "DynamicQuantizeLinear") return kDynamic;
  return kQuantize;
}

}  // namespace fettle::ops
