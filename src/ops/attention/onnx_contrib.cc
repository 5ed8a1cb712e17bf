// Import rules of attention in domain com.microsoft, as ONNX Runtime's tools write it.
#include <limits>
#include <string>
#include <vector>

#include "ops/attention/contrib.h"
#include "ops/attention/onnx_parts.h"
#include "ops/import.h"

namespace fettle::ops {
namespace {

/// The mask at input `mask` and what is added to the scores at input `bias`, as one operand;
/// kAbsent where there is neither.
ir::ValueId MaskAndBias(ImportContext& context, size_t mask, size_t bias, ir::ValueId q,
                        ir::ValueId k, ir::ValueId past) {
  const ir::ValueId added = context.input(bias);
  if (!context.has_input(mask)) return added;
  const ir::ValueId seen =
      context.Emit1("AttentionMask", {context.input(mask), q, k, past},
                    {{"value", context.attributes().Float("mask_filter_value", -10000)}});
  return added == ir::kAbsent ? seen : context.Emit1("Add", {seen, added});
}

ir::Attributes AttentionAttributes(const ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  const int64_t heads = from.Int("num_heads");
  ir::Attributes attributes = {{"q_num_heads", heads}, {"kv_num_heads", heads}};
  if (from.Float("scale", 0) != 0) attributes.Set("scale", from.Float("scale"));
  if (from.Int("unidirectional", 0) != 0) attributes.Set("is_causal", int64_t{1});
  return attributes;
}

/// Operands of self attention behind the projection `qkv` of the input to all three; inputs `mask`,
/// `past` [2, batch, heads, past, size] and `bias` are counted in the ONNX node.
Status EmitSelfAttention(ImportContext& context, ir::ValueId qkv, size_t mask, size_t past,
                         size_t bias) {
  RETURN_IF_ERROR(RefuseAttribute(context, "do_rotary"));
  RETURN_IF_ERROR(RefuseAttribute(context, "past_present_share_buffer"));
  const std::vector<int64_t> sizes = context.attributes().Ints("qkv_hidden_sizes");
  if (!sizes.empty() && sizes.size() != 3)
    return InvalidModel("attribute 'qkv_hidden_sizes': expected 3 values, got {}", sizes.size());
  const std::vector<ir::ValueId> split =
      sizes.empty()
          ? context.Emit("Split", {qkv}, {{"axis", int64_t{-1}}}, 3)
          : context.Emit("Split", {qkv, context.ConstInts(sizes)}, {{"axis", int64_t{-1}}}, 3);
  std::vector<ir::ValueId> operands = {split[0], split[1], split[2], ir::kAbsent};
  const ir::ValueId axis = context.ConstInts({0});
  if (context.has_input(past)) {
    const std::vector<ir::ValueId> parts =
        context.Emit("Split", {context.input(past)}, {{"axis", int64_t{0}}}, 2);
    for (ir::ValueId part : parts) operands.push_back(context.Emit1("Squeeze", {part, axis}));
  }
  operands[3] = MaskAndBias(context, mask, bias, split[0], split[1],
                            operands.size() > 4 ? operands[4] : ir::kAbsent);
  const bool present = IsOutputUsed(context, 1);
  const std::vector<ir::ValueId> y =
      context.Emit("Attention", operands, AttentionAttributes(context), present ? 3 : 1);
  context.Bind(0, y[0]);
  if (present) {
    const ir::ValueId keys = context.Emit1("Unsqueeze", {y[1], axis});
    const ir::ValueId values = context.Emit1("Unsqueeze", {y[2], axis});
    context.Bind(1, context.Emit1("Concat", {keys, values}, {{"axis", int64_t{0}}}));
  }
  return OkStatus();
}

}  // namespace

/// Inputs query, key, value, bias (of all three, one behind the other), key_padding_mask,
/// attention_bias, past_key, past_value.
Status ImportMultiHeadAttention(ImportContext& context) {
  if (!context.has_input(1) || !context.has_input(2))
    return Unsupported("packed queries, keys and values are not supported");
  if (context.num_inputs() > 8) return Unsupported("shared cache inputs are not supported");
  std::vector<ir::ValueId> operands = {context.input(0), context.input(1), context.input(2)};
  if (context.has_input(3)) {
    const std::vector<ir::ValueId> bias = context.Emit(
        "Split", {context.input(3)}, {{"axis", int64_t{0}}, {"num_outputs", int64_t{3}}}, 3);
    for (size_t i = 0; i < 3; ++i) operands[i] = context.Emit1("Add", {operands[i], bias[i]});
  }
  operands.push_back(MaskAndBias(context, 4, 5, operands[0], operands[1], context.input(6)));
  for (size_t i : {6, 7}) operands.push_back(context.input(i));
  const std::vector<ir::ValueId> outputs =
      context.Emit("Attention", operands, AttentionAttributes(context), context.num_outputs());
  for (size_t i = 0; i < outputs.size(); ++i) context.Bind(i, outputs[i]);
  return OkStatus();
}

/// Inputs x, weights and bias of all three projections, mask_index, past, attention_bias.
Status ImportContribAttention(ImportContext& context) {
  if (context.has_input(6)) return Unsupported("input 'past_sequence_length' is not supported");
  ir::ValueId qkv = context.Emit1("MatMul", {context.input(0), context.input(1)});
  if (context.has_input(2)) qkv = context.Emit1("Add", {qkv, context.input(2)});
  return EmitSelfAttention(context, qkv, 3, 4, 5);
}

/// Inputs x, weights, bias, x_scale, weight_scale, mask_index, x_zero_point, weight_zero_point,
/// past.
Status ImportQAttention(ImportContext& context) {
  const ir::ValueId sums = context.Emit1(
      "MatMulInteger", {context.input(0), context.input(1), context.input(6), context.input(7)});
  const ir::ValueId scale = context.Emit1("Mul", {context.input(3), context.input(4)});
  const ir::ValueId scaled = context.Emit1("Mul", {CastTo(context, sums, "f32"), scale});
  const ir::ValueId qkv = context.Emit1("Add", {scaled, context.input(2)});
  return EmitSelfAttention(context, qkv, 5, 8, std::numeric_limits<size_t>::max());
}

/// Inputs x, position_ids ([batch, length], or the position of the first), and the caches.
Status ImportContribRotary(ImportContext& context) {
  RETURN_IF_ERROR(RefuseAttribute(context, "is_packed_batching"));
  if (context.attributes().Float("scale", 1) != 1)
    return Unsupported("attribute 'scale' is not supported");
  ir::Attributes attributes;
  for (const char* name : {"interleaved", "num_heads", "rotary_embedding_dim"})
    attributes.Set(name, context.attributes().Int(name, 0));
  context.Bind(
      0, context.Emit1("RotaryEmbedding",
                       {context.input(0), context.input(2), context.input(3), context.input(1)},
                       std::move(attributes)));
  return OkStatus();
}

}  // namespace fettle::ops
