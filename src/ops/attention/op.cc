#include "ops/attention/op.h"

#include <algorithm>
#include <cmath>

#include "ops/attention/contrib.h"
#include "ops/attention/onnx.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace fettle::ops {

Status AttentionReference(const RefContext& context, const Region& region);
Status RotaryReference(const RefContext& context, const Region& region);

namespace {

/// [batch, heads, length, size] of an operand; `heads` is the attribute, needed for the packed
/// form.
Result<Dims> Heads(const Shape& shape, bool packed, int64_t heads) {
  if (!packed) {
    if (shape.rank() != 4) return InvalidModel("expected rank 4, got {}", shape.ToString());
    return shape.dims();
  }
  if (shape.rank() != 3 || heads < 1 || shape[2] % heads != 0)
    return InvalidModel("{} heads do not divide {}", heads, shape.ToString());
  return Dims{shape[0], heads, shape[1], shape[2] / heads};
}

Status CheckPast(const Shape& past, const AttentionShape& a, int64_t size) {
  if (past != Shape{a.batch, a.kv_heads, a.past, size})
    return InvalidModel("past of shape {} does not fit", past.ToString());
  return OkStatus();
}

std::vector<Shape> InputShapes(const InferContext& context) {
  std::vector<Shape> shapes(6);
  for (int i = 0; i < 6 && i < context.num_inputs(); ++i) {
    if (context.has_input(i)) shapes[i] = context.shape(i);
  }
  return shapes;
}

Status InferAttention(InferContext& context) {
  for (int i : {0, 1, 2, 4, 5}) RETURN_IF_ERROR(CheckType(context, i, kFloatTypes));
  RETURN_IF_ERROR(CheckType(context, 3, kFloatTypes | kBoolType));
  const std::vector<Shape> shapes = InputShapes(context);
  ASSIGN_OR_RETURN(const AttentionShape a, ReadAttention(context.node(), shapes));
  const Shape scores = {a.batch, a.q_heads, a.queries, a.keys};
  if (context.has_input(3)) {
    // A mask may end before the keys do; those behind it are masked.
    Shape seen = scores;
    const Shape& mask = context.shape(3);
    if (mask.rank() > 0 && mask[mask.rank() - 1] > 1) seen[3] = mask[mask.rank() - 1];
    if (seen[3] > scores[3] || BroadcastShapes(mask, seen) != seen)
      return InvalidModel("mask {} does not broadcast to {}", mask.ToString(), scores.ToString());
  }
  if (context.has_input(6) && context.shape(6) != Shape{a.batch})
    return InvalidModel("input 'nonpad_kv_seqlen': expected {} lengths", a.batch);
  context.SetOutput(0, context.dtype(0),
                    a.packed ? Shape{a.batch, a.queries, a.q_heads * a.v_size}
                             : Shape{a.batch, a.q_heads, a.queries, a.v_size});
  context.SetOutput(1, context.dtype(1), {a.batch, a.kv_heads, a.keys, a.qk_size});
  context.SetOutput(2, context.dtype(2), {a.batch, a.kv_heads, a.keys, a.v_size});
  context.SetOutput(3, context.dtype(0), scores);
  return OkStatus();
}

Status InferRotary(InferContext& context) {
  RETURN_IF_ERROR(CheckTypes(context, 0, 3, kFloatTypes));
  if (context.has_input(3))
    RETURN_IF_ERROR(CheckType(context, 3, TypeBit(DType::kI32) | TypeBit(DType::kI64)));
  const Shape& x = context.shape(0);
  ASSIGN_OR_RETURN(const RotaryShape rotary, ReadRotary(context.node(), x, context.shape(1)));
  const int64_t length = x[rotary.packed ? 1 : 2];
  const Shape& cosines = context.shape(1);
  const int rank = context.has_input(3) ? 2 : 3;
  const bool fits = cosines.rank() == rank && cosines[rank - 1] >= rotary.rotated / 2 &&
                    (rank == 2 || (cosines[0] == x[0] && cosines[1] == length));
  if (!fits || context.shape(2) != cosines)
    return InvalidModel("caches {} and {} do not fit the input {}", cosines.ToString(),
                        context.shape(2).ToString(), x.ToString());
  // ONNX has one position each; com.microsoft may give that of the first alone, which Fettle also
  // takes for each batch element.
  if (context.has_input(3) && context.shape(3) != Shape{x[0], length} &&
      context.shape(3) != Shape{1} && context.shape(3) != Shape{x[0]})
    return InvalidModel("input 'position_ids' has the shape {}", context.shape(3).ToString());
  context.SetOutput(0, context.dtype(0), x);
  return OkStatus();
}

int64_t AttentionMacs(const ir::Node& node, std::span<const Shape> inputs, std::span<const Shape>) {
  std::vector<Shape> shapes(inputs.begin(), inputs.end());
  shapes.resize(6);
  const Result<AttentionShape> a = ReadAttention(node, shapes);
  return a.ok() ? a->batch * a->q_heads * a->queries * a->keys * (a->qk_size + a->v_size) : 0;
}

}  // namespace

namespace {

/// Batch, heads and sizes of Q, K and V; the keys alone that are no past.
Status ReadHeads(const ir::Attributes& from, std::span<const Shape> shapes, AttentionShape& a) {
  a.packed = shapes[0].rank() == 3;
  const int64_t kv_heads = from.Int("kv_num_heads", 0);
  ASSIGN_OR_RETURN(const Dims q, Heads(shapes[0], a.packed, from.Int("q_num_heads", 0)));
  ASSIGN_OR_RETURN(const Dims k, Heads(shapes[1], a.packed, kv_heads));
  ASSIGN_OR_RETURN(const Dims v, Heads(shapes[2], a.packed, kv_heads));
  a.batch = q[0];
  a.q_heads = q[1];
  a.queries = q[2];
  a.qk_size = q[3];
  a.kv_heads = k[1];
  a.keys = k[2];
  a.v_size = v[3];
  if (k[0] != a.batch || v[0] != a.batch || v[1] != a.kv_heads || v[2] != k[2] ||
      k[3] != a.qk_size || a.kv_heads < 1 || a.q_heads % a.kv_heads != 0)
    return InvalidModel("Q {}, K {} and V {} do not fit", shapes[0].ToString(),
                        shapes[1].ToString(), shapes[2].ToString());
  return OkStatus();
}

/// How scores are made, and which keys a query sees.
Status ReadScores(const ir::Attributes& from, AttentionShape& a) {
  a.scale = from.Float("scale", 1 / std::sqrt(static_cast<double>(a.qk_size)));
  a.softcap = std::max<double>(from.Float("softcap", 0), 0);  // of ONNX, a negative one is none
  a.causal = from.Int("is_causal", 0) != 0;
  a.left_window = from.Int("left_window_size", -1);
  a.right_window = from.Int("right_window_size", -1);
  for (int64_t window : {a.left_window, a.right_window}) {
    if (window < -1 || window > kMaxElements)
      return InvalidModel("a window of {} keys is out of range", window);
  }
  a.score_mode = from.Int("qk_matmul_output_mode", 0);
  if (a.score_mode < 0 || a.score_mode > 3)
    return InvalidModel("attribute 'qk_matmul_output_mode': expected 0..3, got {}", a.score_mode);
  return OkStatus();
}

}  // namespace

Result<AttentionShape> ReadAttention(const ir::Node& node, std::span<const Shape> shapes) {
  AttentionShape a;
  RETURN_IF_ERROR(ReadHeads(node.attributes, shapes, a));
  const bool has_past = node.input(4) != ir::kAbsent;
  if (has_past != (node.input(5) != ir::kAbsent))
    return InvalidModel("past keys and past values must be given together");
  if (has_past) {
    a.past = shapes[4].rank() == 4 ? shapes[4][2] : 0;
    RETURN_IF_ERROR(CheckPast(shapes[4], a, a.qk_size));
    RETURN_IF_ERROR(CheckPast(shapes[5], a, a.v_size));
    a.keys += a.past;
  }
  RETURN_IF_ERROR(ReadScores(node.attributes, a));
  return a;
}

HostView HeadsView(const HostView& view, bool packed, int64_t heads) {
  if (!packed) return view;
  HostView split = view;
  const int64_t size = view.shape[2] / heads;
  split.shape = {view.shape[0], heads, view.shape[1], size};
  split.strides = {view.strides[0], size * view.strides[2], view.strides[1], view.strides[2]};
  return split;
}

Result<RotaryShape> ReadRotary(const ir::Node& node, const Shape& x, const Shape& cosines) {
  RotaryShape rotary;
  rotary.packed = x.rank() == 3;
  rotary.rotated = node.attributes.Int("rotary_embedding_dim", 0);
  const int64_t turned = cosines.rank() == 0 ? 0 : 2 * cosines[cosines.rank() - 1];
  int64_t heads = node.attributes.Int("num_heads", 0);
  if (heads == 0 && rotary.packed && rotary.rotated == 0 && turned > 0) heads = x[2] / turned;
  ASSIGN_OR_RETURN(const Dims dims, Heads(x, rotary.packed, heads));
  rotary.heads = dims[1];
  rotary.size = dims[3];
  rotary.interleaved = node.attributes.Int("interleaved", 0) != 0;
  if (rotary.rotated == 0) rotary.rotated = std::min(rotary.size, turned);
  if (rotary.rotated < 0 || rotary.rotated > rotary.size || rotary.rotated % 2 != 0)
    return InvalidModel("attribute 'rotary_embedding_dim': {} of {} elements", rotary.rotated,
                        rotary.size);
  return rotary;
}

std::span<const Operator> AttentionOps() {
  static const Operator kOps[] = {
      {{.name = "Attention", .min_inputs = 3, .max_inputs = 7, .max_outputs = 4},
       {.infer = InferAttention,
        .reference = AttentionReference,
        .macs = AttentionMacs,
        .imports = AttentionImports("Attention"),
        .refused = "com.microsoft: MultiHeadAttention with packed operands, do_rotary of "
                   "Attention, caches shared with the past: rare"}},
      {{.name = "AttentionMask", .min_inputs = 3, .max_inputs = 4},
       {.infer = InferAttentionMask,
        .reference = AttentionMaskReference,
        .types = "floats by integers",
        .refused = "packed sequences"}},
      {{.name = "GroupQueryAttention",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 3,
        .max_inputs = 10,
        .max_outputs = 3,
        .host_inputs = 1u << 6},
       {.infer = InferGroupQuery,
        .reference = GroupQueryReference,
        .macs = GroupQueryMacs,
        .imports = AttentionImports("GroupQueryAttention"),
        .refused = "ONNX Runtime's quantised caches, scores as an output, no causal order: rare"}},
      {{.name = "RotaryEmbedding", .min_inputs = 3, .max_inputs = 4},
       {.infer = InferRotary,
        .reference = RotaryReference,
        .imports = AttentionImports("RotaryEmbedding")}},
  };
  return kOps;
}

}  // namespace fettle::ops
