// Import rule of GroupQueryAttention, the attention of ONNX Runtime GenAI's models.
#include <algorithm>
#include <string>
#include <vector>

#include "ops/attention/contrib.h"
#include "ops/attention/onnx_parts.h"
#include "ops/import.h"

namespace fettle::ops {

bool IsOutputUsed(const ImportContext& context, size_t i) {
  return i < context.num_outputs() && !context.node().outputs[i].empty();
}

Status RefuseAttribute(const ImportContext& context, const char* name) {
  if (context.attributes().Int(name, 0) == 0) return OkStatus();
  return Unsupported("attribute '{}': {} is not supported", name, context.attributes().Int(name));
}

ir::ValueId CastTo(ImportContext& context, ir::ValueId x, const char* to) {
  return context.Emit1("Cast", {x}, {{"to", std::string(to)}});
}

namespace {

/// Short names for arithmetic on integers.
class Integers {
 public:
  explicit Integers(ImportContext& context) : context_(context) {}

  ir::ValueId Of(int64_t value) { return context_.ConstInts({value}); }
  ir::ValueId Extent(ir::ValueId x, int64_t axis) {
    return context_.Emit1("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
  }
  /// Input `i` as i64 of the shape `shape`.
  ir::ValueId Input(size_t i, const std::vector<int64_t>& shape) {
    return context_.Emit1("Reshape",
                          {CastTo(context_, context_.input(i), "i64"), context_.ConstInts(shape)});
  }
  ir::ValueId operator()(const char* op, ir::ValueId a, ir::ValueId b) {
    return context_.Emit1(op, {a, b});
  }
  ir::ValueId Where(ir::ValueId condition, ir::ValueId a, ir::ValueId b) {
    return context_.Emit1("Where", {condition, a, b});
  }
  /// 0 up to `count` [1], less 1.
  ir::ValueId Steps(ir::ValueId count) {
    return context_.Emit1("Range", {context_.ConstScalar(DType::kI64, 0),
                                    context_.Emit1("Reshape", {count, context_.ConstInts({})}),
                                    context_.ConstScalar(DType::kI64, 1)});
  }

 private:
  ImportContext& context_;
};

/// Positions [batch] of the first new keys: seqlens_k less the others, or 0 where all keys are new.
ir::ValueId FirstPositions(ImportContext& context) {
  Integers on(context);
  const ir::ValueId length = on.Extent(context.input(0), 1);
  const ir::ValueId later = on("Sub", on("Add", on.Input(5, {-1}), on.Of(1)), length);
  const ir::ValueId all_new = on("Equal", on.Input(6, {1}), length);
  return on.Where(all_new, on("Sub", later, later), later);
}

/// Queries, keys and values, and how many heads they have.
struct Heads {
  int64_t queries, keys;
  ir::ValueId q, k, v;
};

/// `q` holds all three, as runs of heads: they differ in how many there are, which no Split by size
/// knows here.
void Unpack(ImportContext& context, Heads& heads) {
  const ir::ValueId by_head = context.Emit1(
      "Reshape", {heads.q, context.ConstInts({0, 0, heads.queries + 2 * heads.keys, -1})});
  const std::vector<ir::ValueId> parts =
      context.Emit("Split", {by_head, context.ConstInts({heads.queries, heads.keys, heads.keys})},
                   {{"axis", int64_t{2}}}, 3);
  const ir::ValueId packed = context.ConstInts({0, 0, -1});
  heads.q = context.Emit1("Reshape", {parts[0], packed});
  heads.k = context.Emit1("Reshape", {parts[1], packed});
  heads.v = context.Emit1("Reshape", {parts[2], packed});
}

/// Queries and keys, each head divided by its root mean square and times the weights at 14 and 15.
void NormaliseHeads(ImportContext& context, Heads& heads) {
  const ir::ValueId packed = context.ConstInts({0, 0, -1});
  const auto normalise = [&](ir::ValueId x, int64_t count, size_t weights) {
    const ir::ValueId split = context.Emit1("Reshape", {x, context.ConstInts({0, 0, count, -1})});
    const ir::ValueId y = context.Emit1(
        "RMSNormalization", {split, context.input(weights)},
        {{"axis", int64_t{-1}}, {"epsilon", context.attributes().Float("qk_norm_epsilon", 1e-6)}});
    return context.Emit1("Reshape", {y, packed});
  };
  heads.q = normalise(heads.q, heads.queries, 14);
  heads.k = normalise(heads.k, heads.keys, 15);
}

void Rotate(ImportContext& context, Heads& heads) {
  const ir::ValueId positions = context.has_input(9) ? context.input(9) : FirstPositions(context);
  const auto rotate = [&](ir::ValueId x, int64_t count) {
    return context.Emit1(
        "RotaryEmbedding", {x, context.input(7), context.input(8), positions},
        {{"interleaved", context.attributes().Int("rotary_interleaved", 0)}, {"num_heads", count}});
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
  return context.ConstFloats(std::vector<double>(heads.queries));
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

/// A cache of C rows for any number of keys ('sliding_window_cache'). Rows [0, L) of it hold the
/// last L(T) of T keys: all of them up to C, then G = C - window + 1 are dropped at a time.
class WindowedCache {
 public:
  explicit WindowedCache(ImportContext& context)
      : context_(context),
        on_(context),
        window_(context.attributes().Int("local_window_size", -1)),
        capacity_(on_.Extent(context.input(3), 2)),
        length_(on_.Extent(context.input(0), 1)),
        total_(on_.Input(6, {1})),
        ends_(on_("Add", on_.Input(5, {-1}), on_.Of(1))),
        all_new_(on_("Equal", total_, length_)) {}

  /// GroupQueryAttention on the rows that are there, with new ones behind them: seqlens_k and
  /// total_sequence_length as counted there.
  std::vector<ir::ValueId> Operands(const Heads& heads) {
    const ir::ValueId none = on_("Sub", ends_, ends_);
    const ir::ValueId before = on_("Max", on_("Sub", ends_, length_), none);
    const ir::ValueId resident = Resident(before);
    valid_ = on_.Where(all_new_, ends_, on_("Add", resident, length_));
    const ir::ValueId total = on_.Where(all_new_, length_, on_("Add", capacity_, length_));
    return {heads.q,
            heads.k,
            heads.v,
            context_.input(3),
            context_.input(4),
            CastTo(context_, on_("Sub", valid_, on_.Of(1)), "i32"),
            CastTo(context_, total, "i32"),
            ir::kAbsent,
            HeadSinks(context_, heads)};
  }

  /// The C rows that stay of those of `all` [batch, heads, rows, size].
  ir::ValueId Kept(ir::ValueId all) {
    const ir::ValueId dropped = on_("Sub", valid_, Resident(ends_));
    const ir::ValueId first = context_.Emit1("Reshape", {dropped, context_.ConstInts({-1, 1})});
    const ir::ValueId last = on_("Sub", on_.Extent(all, 2), on_.Of(1));
    const ir::ValueId rows = on_("Min", on_("Add", first, on_.Steps(capacity_)), last);
    const ir::Attributes swap = {{"perm", std::vector<int64_t>{0, 2, 1, 3}}};
    const ir::ValueId by_row = context_.Emit1("Transpose", {all}, swap);
    const ir::ValueId index = context_.Emit1("Unsqueeze", {rows, context_.ConstInts({2})});
    const ir::ValueId kept =
        context_.Emit1("GatherND", {by_row, index}, {{"batch_dims", int64_t{1}}});
    return context_.Emit1("Transpose", {kept}, swap);
  }

 private:
  /// L of `keys`.
  ir::ValueId Resident(ir::ValueId keys) {
    const ir::ValueId at_once = on_("Sub", capacity_, on_.Of(window_ - 1));
    const ir::ValueId over =
        on_("Sub", on_("Add", keys, at_once), on_("Add", capacity_, on_.Of(1)));
    const ir::ValueId times = on_("Div", on_("Max", over, on_.Of(0)), at_once);
    return on_("Sub", keys, on_("Mul", times, at_once));
  }

  ImportContext& context_;
  Integers on_;
  int64_t window_;
  ir::ValueId capacity_, length_, total_, ends_, all_new_, valid_ = ir::kAbsent;
};

Status EmitWindowed(ImportContext& context, const Heads& heads) {
  const int64_t window = context.attributes().Int("local_window_size", -1);
  if (window < 1 || window > (int64_t{1} << 31))
    return InvalidModel("attribute 'sliding_window_cache': a window of {} keys", window);
  if (!context.has_input(3) || !context.has_input(4))
    return InvalidModel("attribute 'sliding_window_cache': there is no cache");
  if (context.has_input(10))
    return Unsupported("'attention_bias' beside 'sliding_window_cache' is not supported");
  WindowedCache cache(context);
  const std::vector<ir::ValueId> y =
      context.Emit("GroupQueryAttention", cache.Operands(heads), GroupQueryAttributes(context), 3);
  context.Bind(0, y[0]);
  for (size_t i : {1, 2}) {
    if (i < context.num_outputs()) context.Bind(i, cache.Kept(y[i]));
  }
  return OkStatus();
}

/// What the node must not have.
Status CheckForm(const ImportContext& context, const Heads& heads) {
  RETURN_IF_ERROR(RefuseAttribute(context, "qk_output"));
  if (context.attributes().Int("causal", 1) != 1)
    return Unsupported("attribute 'causal': 0 is not supported");
  if (context.has_input(12) || context.has_input(13))
    return Unsupported("quantised caches (inputs 'k_scale' and 'v_scale') are not supported");
  if (context.has_input(14) != context.has_input(15))
    return InvalidModel("inputs 'q_norm_weight' and 'k_norm_weight' must be given together");
  if (IsOutputUsed(context, 3)) return Unsupported("output 3 is not supported");
  if (heads.queries < 1 || heads.keys < 1 || heads.queries > 4096 || heads.keys > 4096)
    return InvalidModel("{} heads and {} key heads", heads.queries, heads.keys);
  return OkStatus();
}

}  // namespace

/// Inputs query (or all three, packed), key, value, past_key, past_value, seqlens_k,
/// total_sequence_length, cos_cache, sin_cache, position_ids, attention_bias, head_sink, k_scale,
/// v_scale, q_norm_weight, k_norm_weight.
Status ImportGroupQueryAttention(ImportContext& context) {
  Heads heads = {context.attributes().Int("num_heads"), context.attributes().Int("kv_num_heads"),
                 context.input(0), context.input(1), context.input(2)};
  RETURN_IF_ERROR(CheckForm(context, heads));
  if (heads.k == ir::kAbsent || heads.v == ir::kAbsent) Unpack(context, heads);
  if (context.has_input(14)) NormaliseHeads(context, heads);
  if (context.attributes().Int("do_rotary", 0) != 0) Rotate(context, heads);
  if (context.attributes().Int("sliding_window_cache", 0) != 0) return EmitWindowed(context, heads);
  const std::vector<ir::ValueId> y =
      context.Emit("GroupQueryAttention",
                   {heads.q, heads.k, heads.v, context.input(3), context.input(4), context.input(5),
                    context.input(6), context.input(10), HeadSinks(context, heads)},
                   GroupQueryAttributes(context), std::min<size_t>(context.num_outputs(), 3));
  for (size_t i = 0; i < y.size(); ++i) context.Bind(i, y[i]);
  return OkStatus();
}

}  // namespace fettle::ops
