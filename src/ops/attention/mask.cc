#include "ops/attention/mask.h"

#include <algorithm>
#include <cmath>

#include "ops/attention/byte_rows.h"
#include "ops/attention/contrib.h"
#include "ops/host_ints.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace fettle::ops {

Result<AttentionMaskShape> ReadAttentionMask(const Shape& mask, const Shape& queries,
                                             const Shape& keys, const Shape* past) {
  using Kind = AttentionMaskShape::Kind;
  if (queries.rank() != 3 || (keys.rank() != 3 && keys.rank() != 4) ||
      (past != nullptr && past->rank() != 4))
    return InvalidModel("queries {} and keys {} have no sequence", queries.ToString(),
                        keys.ToString());
  AttentionMaskShape a;
  a.batch = queries[0];
  a.queries = queries[1];
  a.past = past == nullptr ? 0 : (*past)[2];
  a.keys = a.past + keys[keys.rank() - 2];
  if (mask == Shape{a.batch}) {
    a.kind = Kind::kEnds;
  } else if (mask == Shape{2 * a.batch}) {
    a.kind = Kind::kRanges;
  } else if (mask == Shape{a.batch, a.keys}) {
    a.kind = Kind::kKeys;
  } else if (mask == Shape{a.batch, a.queries, a.keys}) {
    a.kind = Kind::kPairs;
  } else if (mask.rank() == 4 && mask[0] == a.batch && mask[1] == 1 && mask[2] == mask[3] &&
             mask[2] >= a.keys) {
    a.kind = Kind::kSquare;
  } else if (mask == Shape{3 * a.batch + 2}) {
    return Unsupported("a mask of packed sequences is not supported");
  } else {
    return InvalidModel("mask {} does not fit {} queries and {} keys of {}", mask.ToString(),
                        a.queries, a.keys, a.batch);
  }
  return a;
}

Result<GroupQueryShape> ReadGroupQuery(const ir::Node& node, const Shape& q, const Shape& k,
                                       const Shape& v, const Shape* past) {
  const ir::Attributes& from = node.attributes;
  GroupQueryShape a;
  ASSIGN_OR_RETURN(
      static_cast<GroupedHeads&>(a),
      ReadGroupedHeads(node, from.Int("num_heads", 0), from.Int("kv_num_heads", 0), q, k, v));
  a.caches = a.batch;
  if (past != nullptr) {
    if (past->rank() == 4 && node.input(9) != ir::kAbsent) a.caches = (*past)[0];
    a.in_bytes = past->rank() == 4 && (*past)[3] == StoredSize(DType::kI8, a.size);
    const int64_t row = a.in_bytes ? (*past)[3] : a.size;
    if (past->rank() != 4 || *past != Shape{a.caches, a.kv_heads, (*past)[2], row})
      return InvalidModel("past of shape {} does not fit", past->ToString());
    a.cache = (*past)[2];
  }
  a.softcap = std::max<double>(from.Float("softcap", 0), 0);  // of ONNX, a negative one is none
  a.window = from.Int("local_window_size", -1);
  if (a.window == 0 || a.window < -1)
    return InvalidModel("attribute 'local_window_size': got {}", a.window);
  return a;
}

Status CheckCachesNamed(std::span<const int32_t> named, int64_t caches) {
  for (size_t i = 0; i < named.size(); ++i) {
    if (named[i] < 0 || named[i] >= caches)
      return InvalidArgument("sequence {} has cache {} of {}", i, named[i], caches);
    if (std::find(named.begin(), named.begin() + i, named[i]) != named.begin() + i)
      return InvalidArgument("two sequences have cache {}", named[i]);
  }
  return OkStatus();
}

Status InferAttentionMask(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kIntegerTypes | kBoolType));
  RETURN_IF_ERROR(CheckType(context, 1, kFloatTypes));
  const Shape* past = context.has_input(3) ? &context.shape(3) : nullptr;
  ASSIGN_OR_RETURN(const AttentionMaskShape a,
                   ReadAttentionMask(context.shape(0), context.shape(1), context.shape(2), past));
  const bool by_query =
      a.kind == AttentionMaskShape::Kind::kPairs || a.kind == AttentionMaskShape::Kind::kSquare;
  context.SetOutput(0, context.dtype(1), Shape{a.batch, 1, by_query ? a.queries : 1, a.keys});
  return OkStatus();
}

namespace {

Status CheckCaches(const InferContext& context, const GroupQueryShape& a) {
  if (!context.has_input(9)) return OkStatus();
  RETURN_IF_ERROR(CheckType(context, 9, TypeBit(DType::kI32)));
  if (!context.has_input(3) || context.shape(9) != Shape{a.batch} || a.caches < a.batch)
    return InvalidModel("input 'cache_of': {} of {} caches for {} sequences",
                        context.shape(9).ToString(), a.caches, a.batch);
  return OkStatus();
}

/// What is added to the scores, and the heads' own.
Status CheckScoreOperands(const InferContext& context, const GroupQueryShape& a, int64_t total) {
  RETURN_IF_ERROR(CheckType(context, 8, kFloatTypes));
  if (context.has_input(7)) {
    const Shape& bias = context.shape(7);
    const Shape scores = {a.batch, a.q_heads, a.length, total};
    if (bias.rank() != 4 || BroadcastShapes(bias, scores) != scores)
      return InvalidModel("input 'attention_bias': {} does not broadcast to {}", bias.ToString(),
                          scores.ToString());
  }
  if (context.has_input(8) && context.shape(8) != Shape{a.q_heads})
    return InvalidModel("input 'head_sink': {} for {} heads", context.shape(8).ToString(),
                        a.q_heads);
  return OkStatus();
}

}  // namespace

Status InferGroupQuery(InferContext& context) {
  RETURN_IF_ERROR(CheckTypes(context, 0, 3, kFloatTypes));
  RETURN_IF_ERROR(CheckTypes(context, 3, 5, kFloatTypes | TypeBit(DType::kI8)));
  if (!context.has_input(5) || !context.has_input(6))
    return InvalidModel("inputs 'seqlens_k' and 'total_sequence_length' are required");
  if (context.has_input(3) != context.has_input(4))
    return InvalidModel("past keys and past values must be given together");
  const DType cache = context.dtype(context.has_input(3) ? 3 : 0);
  const bool rounds = cache == DType::kF16 || cache == DType::kI8;
  if (cache != context.dtype(0) && (!rounds || context.dtype(0) != DType::kF32))
    return InvalidModel("a cache of {} for queries of {}", DTypeName(cache),
                        DTypeName(context.dtype(0)));
  const Shape* past = context.has_input(3) ? &context.shape(3) : nullptr;
  ASSIGN_OR_RETURN(
      const GroupQueryShape a,
      ReadGroupQuery(context.node(), context.shape(0), context.shape(1), context.shape(2), past));
  const int64_t row = StoredSize(cache, a.size), v_row = StoredSize(cache, a.v_size);
  if (past != nullptr && (a.in_bytes != (cache == DType::kI8) || context.dtype(4) != cache))
    return InvalidModel("past of {} with rows of {}", DTypeName(cache), (*past)[3]);
  if (past != nullptr && context.shape(4) != Shape{a.caches, a.kv_heads, a.cache, v_row})
    return InvalidModel("past of shape {} does not fit", context.shape(4).ToString());
  if (!IsInteger(context.dtype(5)) || context.shape(5).elements() != a.batch)
    return InvalidModel("input 'seqlens_k': expected {} lengths", a.batch);
  int64_t total = 0;
  ASSIGN_OR_RETURN(const bool known, ReadHostInt(context, 6, "total_sequence_length", total));
  if (!known) return OkStatus();
  if (total < a.length || total > kMaxElements)
    return InvalidModel("input 'total_sequence_length': {} for {} new keys", total, a.length);
  const int64_t keys = std::max(total, a.cache);
  RETURN_IF_ERROR(CheckScoreOperands(context, a, total));
  RETURN_IF_ERROR(CheckCaches(context, a));
  context.SetOutput(0, context.dtype(0), Shape{a.batch, a.length, a.q_heads * a.v_size});
  context.SetOutput(1, cache, Shape{a.caches, a.kv_heads, keys, row});
  context.SetOutput(2, cache, Shape{a.caches, a.kv_heads, keys, v_row});
  return OkStatus();
}

int64_t GroupQueryMacs(const ir::Node& node, std::span<const Shape> inputs,
                       std::span<const Shape> outputs) {
  const auto a = ReadGroupQuery(node, inputs[0], inputs[1], inputs[2], nullptr);
  if (!a.ok()) return 0;
  const int64_t keys = outputs.size() > 1 && outputs[1].rank() == 4 ? outputs[1][2] : a->length;
  return a->batch * a->q_heads * a->length * keys * (a->size + a->v_size);
}

}  // namespace fettle::ops
