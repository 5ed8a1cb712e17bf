// Import rules of attention in domain com.microsoft, as ONNX Runtime's tools write it.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "ops/attention/contrib.h"
#include "ops/import.h"

namespace fettle::ops {
namespace {

bool IsOutputUsed(const ImportContext& context, size_t i) {
  return i < context.num_outputs() && !context.node().outputs[i].empty();
}

Status RefuseAttribute(const ImportContext& context, const char* name) {
  if (context.attributes().Int(name, 0) == 0) return OkStatus();
  return Unsupported("attribute '{}': {} is not supported", name, context.attributes().Int(name));
}

/// How many elements of a head the cosines at input `cosines` turn; 0: all, or not known here.
int64_t RotatedElements(const ImportContext& context, size_t cosines) {
  const Constant* cache = context.constant(cosines);
  return cache == nullptr || cache->shape().rank() != 2 ? 0 : 2 * cache->shape()[1];
}

ir::ValueId CastTo(ImportContext& context, ir::ValueId x, const char* to) {
  return context.Emit1("Cast", {x}, {{"to", std::string(to)}});
}

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
  if (attributes.Int("rotary_embedding_dim") == 0)
    attributes.Set("rotary_embedding_dim", RotatedElements(context, 2));
  context.Bind(
      0, context.Emit1("RotaryEmbedding",
                       {context.input(0), context.input(2), context.input(3), context.input(1)},
                       std::move(attributes)));
  return OkStatus();
}

namespace {

/// Positions [batch, length] of the new keys: up to seqlens_k, or from 0 on where all keys are new.
ir::ValueId NewPositions(ImportContext& context) {
  const ir::ValueId length =
      context.Emit1("Shape", {context.input(0)}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  const ir::ValueId one = context.ConstInts({1}), column = context.ConstInts({-1, 1});
  const ir::ValueId total =
      context.Emit1("Reshape", {CastTo(context, context.input(6), "i64"), one});
  const ir::ValueId ends = context.Emit1(
      "Add", {context.Emit1("Reshape", {CastTo(context, context.input(5), "i64"), column}), one});
  const ir::ValueId later = context.Emit1("Sub", {ends, length});
  const ir::ValueId none = context.Emit1("Sub", {later, later});
  const ir::ValueId all_new = context.Emit1("Equal", {total, length});
  const ir::ValueId first = context.Emit1("Where", {all_new, none, later});
  const ir::ValueId scalar = context.ConstInts({});
  const ir::ValueId steps = context.Emit1(
      "Range", {context.ConstScalar(DType::kI64, 0), context.Emit1("Reshape", {length, scalar}),
                context.ConstScalar(DType::kI64, 1)});
  return context.Emit1("Add", {first, steps});
}

/// Queries, keys and values, and how many heads they have.
struct Heads {
  int64_t queries, keys;
  ir::ValueId q, k, v;
};

/// `q` holds all three, as runs of heads: they differ in how many there are, which no Split by size
/// knows here.
Status Unpack(ImportContext& context, Heads& heads) {
  if (heads.queries < 1 || heads.keys < 1 || heads.queries > 4096 || heads.keys > 4096)
    return InvalidModel("{} heads and {} key heads", heads.queries, heads.keys);
  const ir::ValueId by_head = context.Emit1(
      "Reshape", {heads.q, context.ConstInts({0, 0, heads.queries + 2 * heads.keys, -1})});
  const std::vector<ir::ValueId> parts =
      context.Emit("Split", {by_head, context.ConstInts({heads.queries, heads.keys, heads.keys})},
                   {{"axis", int64_t{2}}}, 3);
  const ir::ValueId packed = context.ConstInts({0, 0, -1});
  heads.q = context.Emit1("Reshape", {parts[0], packed});
  heads.k = context.Emit1("Reshape", {parts[1], packed});
  heads.v = context.Emit1("Reshape", {parts[2], packed});
  return OkStatus();
}

void Rotate(ImportContext& context, Heads& heads) {
  const ir::ValueId positions = context.has_input(9) ? context.input(9) : NewPositions(context);
  const auto rotate = [&](ir::ValueId x, int64_t count) {
    return context.Emit1("RotaryEmbedding", {x, context.input(7), context.input(8), positions},
                         {{"interleaved", context.attributes().Int("rotary_interleaved", 0)},
                          {"num_heads", count},
                          {"rotary_embedding_dim", RotatedElements(context, 7)}});
  };
  heads.q = rotate(heads.q, heads.queries);
  heads.k = rotate(heads.k, heads.keys);
}

/// Scores of the heads themselves beside those of the keys: 0 with 'smooth_softmax'.
ir::ValueId HeadSinks(ImportContext& context, const Heads& heads) {
  if (const Constant* sinks = context.constant(11); sinks != nullptr && IsFloat(sinks->dtype()))
    return CastTo(context, context.input(11), "f32");
  if (context.has_input(11) || context.attributes().Int("smooth_softmax", 0) != 1)
    return context.input(11);
  return context.ConstFloats(std::vector<double>(std::clamp<int64_t>(heads.queries, 0, 4096)));
}

ir::Attributes GroupQueryAttributes(const ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  ir::Attributes attributes = {{"num_heads", from.Int("num_heads")},
                               {"kv_num_heads", from.Int("kv_num_heads")}};
  if (from.Float("scale", 0) != 0) attributes.Set("scale", from.Float("scale"));
  if (from.Float("softcap", 0) != 0) attributes.Set("softcap", from.Float("softcap"));
  if (from.Int("local_window_size", -1) != -1)
    attributes.Set("local_window_size", from.Int("local_window_size"));
  return attributes;
}

}  // namespace

/// Inputs query (or all three, packed), key, value, past_key, past_value, seqlens_k,
/// total_sequence_length, cos_cache, sin_cache, position_ids, attention_bias, head_sink.
Status ImportGroupQueryAttention(ImportContext& context) {
  RETURN_IF_ERROR(RefuseAttribute(context, "qk_output"));
  if (context.has_input(12) || context.has_input(13))
    return Unsupported("inputs after 'head_sink' are not supported");
  if (IsOutputUsed(context, 3)) return Unsupported("output 3 is not supported");
  Heads heads = {context.attributes().Int("num_heads"), context.attributes().Int("kv_num_heads"),
                 context.input(0), context.input(1), context.input(2)};
  if (heads.k == ir::kAbsent || heads.v == ir::kAbsent) RETURN_IF_ERROR(Unpack(context, heads));
  if (context.attributes().Int("do_rotary", 0) != 0) Rotate(context, heads);
  const std::vector<ir::ValueId> y =
      context.Emit("GroupQueryAttention",
                   {heads.q, heads.k, heads.v, context.input(3), context.input(4), context.input(5),
                    context.input(6), context.input(10), HeadSinks(context, heads)},
                   GroupQueryAttributes(context), std::min<size_t>(context.num_outputs(), 3));
  for (size_t i = 0; i < y.size(); ++i) context.Bind(i, y[i]);
  return OkStatus();
}

}  // namespace fettle::ops
