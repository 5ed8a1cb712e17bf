#include "passes/rewrite/spell_attention.h"

#include <optional>
#include <vector>

#include "ops/attention/op.h"
#include "passes/edit/constants.h"
#include "passes/edit/editor.h"
#include "passes/rewrite/attention_mask.h"

namespace fettle::passes {
namespace {

/// Causal orders and windows become a constant of queries x keys; larger ones stay what they are.
constexpr int64_t kLongestOrder = int64_t{1} << 24;

const std::vector<int64_t> kSwapHeads = {0, 2, 1, 3};

class Speller {
 public:
  Speller(Editor& editor, ir::NodeId id, const ops::AttentionShape& a)
      : editor_(editor),
        id_(id),
        like_(editor.node(id)),
        a_(a),
        dtype_(editor.value(like_.inputs[0]).dtype),
        group_(a.q_heads / a.kv_heads) {}

  Status Spell() {
    ASSIGN_OR_RETURN(const ir::ValueId scores, Scores());
    const ir::ValueId values = Present(2, Heads(2, a_.kv_heads, a_.v_size), a_.v_size);
    ASSIGN_OR_RETURN(const ScoreMask mask, MaskScores(editor_, like_, a_));
    ir::ValueId p = scores;
    if (mask.added != ir::kAbsent)
      p = Add("Add"_op, {p, mask.added}, {a_.batch, a_.q_heads, a_.queries, a_.keys});
    p = Add("Softmax"_op, {p}, {a_.batch, a_.q_heads, a_.queries, a_.keys},
            {{"axis", int64_t{-1}}});
    ir::ValueId y = Add("MatMul"_op, {GroupHeads(p, a_.keys), values},
                        {a_.batch, a_.kv_heads, group_ * a_.queries, a_.v_size});
    const Dims by_head = {a_.batch, a_.q_heads, a_.queries, a_.v_size};
    if (group_ > 1) y = Reshape(y, by_head);
    if (mask.seen != ir::kAbsent) y = Add("Mul"_op, {y, mask.seen}, by_head);
    if (a_.packed) {
      y = Add("Transpose"_op, {y}, {a_.batch, a_.queries, a_.q_heads, a_.v_size},
              {{"perm", kSwapHeads}});
      y = Reshape(y, {a_.batch, a_.queries, a_.q_heads * a_.v_size});
    }
    if (like_.output(0) != ir::kAbsent) editor_.ReplaceOutput(id_, 0, "Identity"_op, {y});
    return OkStatus();
  }

 private:
  /// [batch, q_heads, queries, keys], scaled and capped.
  Result<ir::ValueId> Scores() {
    ir::ValueId q = GroupHeads(Heads(0, a_.q_heads, a_.qk_size), a_.qk_size);
    const Dims grouped = {a_.batch, a_.kv_heads, group_ * a_.queries, a_.qk_size};
    ASSIGN_OR_RETURN(q, Scaled(q, a_.scale, grouped));
    const ir::ValueId keys = Present(1, Heads(1, a_.kv_heads, a_.qk_size), a_.qk_size);
    const ir::ValueId columns =
        Add("Transpose"_op, {keys}, {a_.batch, a_.kv_heads, a_.qk_size, a_.keys},
            {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    ir::ValueId scores =
        Add("MatMul"_op, {q, columns}, {a_.batch, a_.kv_heads, group_ * a_.queries, a_.keys});
    const Dims by_head = {a_.batch, a_.q_heads, a_.queries, a_.keys};
    if (group_ > 1) scores = Reshape(scores, by_head);
    if (a_.softcap == 0) return scores;
    ASSIGN_OR_RETURN(scores, Scaled(scores, 1 / a_.softcap, by_head));
    return Scaled(Add("Tanh"_op, {scores}, by_head), a_.softcap, by_head);
  }

  /// Operand `i` as [batch, heads, length, size].
  ir::ValueId Heads(size_t i, int64_t heads, int64_t size) {
    const ir::ValueId x = like_.inputs[i];
    if (!a_.packed) return x;
    const int64_t length = (*editor_.value(x).shape)[1];
    const ir::ValueId split = Reshape(x, {a_.batch, length, heads, size});
    return Add("Transpose"_op, {split}, {a_.batch, heads, length, size}, {{"perm", kSwapHeads}});
  }

  /// The rows of the query heads that share a key head, one behind the other.
  ir::ValueId GroupHeads(ir::ValueId x, int64_t size) {
    return group_ == 1 ? x : Reshape(x, {a_.batch, a_.kv_heads, group_ * a_.queries, size});
  }

  /// Keys (values) with those of the past before them, which are output `i` of the node, too.
  ir::ValueId Present(size_t i, ir::ValueId current, int64_t size) {
    const ir::ValueId past = like_.input(i + 3);
    const Dims dims = {a_.batch, a_.kv_heads, a_.keys, size};
    if (past != ir::kAbsent)
      current = Add("Concat"_op, {past, current}, dims, {{"axis", int64_t{2}}});
    if (like_.output(i) != ir::kAbsent) editor_.ReplaceOutput(id_, i, "Identity"_op, {current});
    return current;
  }

  Result<ir::ValueId> Scaled(ir::ValueId x, double factor, const Dims& dims) {
    if (factor == 1) return x;
    ASSIGN_OR_RETURN(Constant number, ConstantFrom(dtype_, Shape{}, {factor}));
    return Add("Mul"_op, {x, editor_.AddConstant(std::move(number))}, dims);
  }
  ir::ValueId Reshape(ir::ValueId x, const Dims& dims) {
    return Add("Reshape"_op, {x, editor_.AddConstant(IntsConstant(dims))}, dims);
  }
  ir::ValueId Add(ir::OpRef op, std::vector<ir::ValueId> inputs, const Dims& dims,
                  ir::Attributes attributes = {}) {
    const ir::ValueId made = editor_.Add(like_, op, std::move(inputs), std::move(attributes));
    editor_.SetType(made, dtype_, Shape(dims));
    return made;
  }

  Editor& editor_;
  ir::NodeId id_;
  const ir::Node like_;
  const ops::AttentionShape& a_;
  DType dtype_;
  int64_t group_;
};

/// The sizes of a node that can be spelled; nothing otherwise.
std::optional<ops::AttentionShape> SizesOf(const Editor& editor, const ir::Node& node) {
  if (node.input(6) != ir::kAbsent || node.output(3) != ir::kAbsent) return std::nullopt;
  std::vector<Shape> shapes(6);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ir::ValueId id = node.input(i);
    if (id == ir::kAbsent) continue;
    const ir::Value& value = editor.value(id);
    if (!value.has_concrete_shape() || value.shape->elements() == 0) return std::nullopt;
    if (i != 3 && value.dtype != editor.value(node.inputs[0]).dtype) return std::nullopt;
    shapes[i] = *value.shape;
  }
  const Result<ops::AttentionShape> a = ops::ReadAttention(node, shapes);
  if (!a.ok()) return std::nullopt;
  const bool is_ordered = a->causal || a->left_window >= 0 || a->right_window >= 0;
  if (is_ordered && a->queries * a->keys > kLongestOrder) return std::nullopt;
  const ir::ValueId mask = node.input(3);
  if (mask == ir::kAbsent) return *a;
  const ir::Value& value = editor.value(mask);
  const bool is_typed =
      value.dtype == DType::kBool || value.dtype == editor.value(node.inputs[0]).dtype;
  const int rank = shapes[3].rank();
  const bool fits = rank > 0 && (shapes[3][rank - 1] == a->keys || shapes[3][rank - 1] == 1);
  return is_typed && fits ? std::optional(*a) : std::nullopt;
}

}  // namespace

Result<bool> SpellAttention(ir::Graph& graph) {
  if (!HasOp(graph, {"Attention"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead || editor.node(id).op != "Attention"_op) continue;
    const std::optional<ops::AttentionShape> sizes = SizesOf(editor, editor.node(id));
    if (sizes) RETURN_IF_ERROR(Speller(editor, id, *sizes).Spell());
  }
  return editor.Finish();
}

}  // namespace fettle::passes
