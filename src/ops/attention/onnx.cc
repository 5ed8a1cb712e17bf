#include "ops/attention/onnx.h"

#include "ops/import.h"

namespace fettle::ops {
namespace {

/// Inputs query, key, value, bias (of all three, one behind the other), key_padding_mask,
/// attention_bias, past_key, past_value.
Status ImportMultiHeadAttention(ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  if (!context.has_input(1) || !context.has_input(2))
    return Unsupported("packed queries, keys and values are not supported");
  if (context.has_input(4)) return Unsupported("input 'key_padding_mask' is not supported");
  if (context.num_inputs() > 8) return Unsupported("shared cache inputs are not supported");
  std::vector<ir::ValueId> operands = {context.input(0), context.input(1), context.input(2)};
  if (context.has_input(3)) {
    const std::vector<ir::ValueId> bias = context.Emit(
        "Split", {context.input(3)}, {{"axis", int64_t{0}}, {"num_outputs", int64_t{3}}}, 3);
    for (size_t i = 0; i < 3; ++i) operands[i] = context.Emit1("Add", {operands[i], bias[i]});
  }
  for (size_t i : {5, 6, 7}) operands.push_back(context.input(i));
  const int64_t heads = from.Int("num_heads");
  ir::Attributes attributes = {{"q_num_heads", heads}, {"kv_num_heads", heads}};
  if (from.Float("scale", 0) != 0) attributes.Set("scale", from.Float("scale"));
  if (from.Int("unidirectional", 0) != 0) attributes.Set("is_causal", int64_t{1});
  const std::vector<ir::ValueId> outputs =
      context.Emit("Attention", operands, std::move(attributes), context.num_outputs());
  for (size_t i = 0; i < outputs.size(); ++i) context.Bind(i, outputs[i]);
  return OkStatus();
}

constexpr ImportRule kAttention[] = {
    {.op_type = "Attention", .since = 23},
    {.op_type = "MultiHeadAttention", .run = ImportMultiHeadAttention, .domain = kMicrosoft}};
constexpr ImportRule kRotary[] = {{.op_type = "RotaryEmbedding", .since = 23}};

}  // namespace

std::span<const ImportRule> AttentionImports(std::string_view op) {
  if (op == "Attention") return kAttention;
  return kRotary;
}

}  // namespace fettle::ops
