#include "passes/rewrite/spell_attention.h"

#include <optional>
#include <vector>

#include "ops/attention/op.h"
#include "passes/edit/typed_nodes.h"
#include "passes/rewrite/attention_mask.h"

namespace fettle::passes {
namespace {

/// Causal orders and windows become a constant of queries x keys; larger ones stay what they are.
constexpr int64_t kLongestOrder = int64_t{1} << 24;

const std::vector<int64_t> kSwapHeads = {0, 2, 1, 3};

class AttentionSpeller {
 public:
  AttentionSpeller(Editor& editor, ir::NodeId id, const ops::AttentionShape& a)
      : nodes_(editor, editor.node(id), editor.value(editor.node(id).inputs[0]).dtype),
        id_(id),
        a_(a),
        group_(a.q_heads / a.kv_heads) {}

  Status Spell() {
    ASSIGN_OR_RETURN(ir::ValueId p, Scores());
    const ir::ValueId values = Present(2, Heads(2, a_.kv_heads, a_.v_size), a_.v_size);
    ASSIGN_OR_RETURN(const ScoreMask mask, MaskScores(nodes_, a_));
    const Dims scores = {a_.batch, a_.q_heads, a_.queries, a_.keys};
    if (mask.added != ir::kAbsent) p = nodes_.Add("Add"_op, {p, mask.added}, scores);
    p = nodes_.Add("Softmax"_op, {p}, scores, {{"axis", int64_t{-1}}});
    ir::ValueId y =
        nodes_.Add("MatMul"_op, {GroupHeads(p, a_.keys), values}, GroupedRows(a_.v_size));
    const Dims by_head = {a_.batch, a_.q_heads, a_.queries, a_.v_size};
    if (group_ > 1) y = nodes_.Reshape(y, by_head);
    if (mask.seen != ir::kAbsent) y = nodes_.Add("Mul"_op, {y, mask.seen}, by_head);
    if (a_.packed) {
      y = nodes_.Transpose(y, {a_.batch, a_.queries, a_.q_heads, a_.v_size}, kSwapHeads);
      y = nodes_.Reshape(y, {a_.batch, a_.queries, a_.q_heads * a_.v_size});
    }
    if (nodes_.like().output(0) != ir::kAbsent)
      nodes_.editor().ReplaceOutput(id_, 0, "Identity"_op, {y});
    return OkStatus();
  }

 private:
  /// [batch, q_heads, queries, keys], scaled and capped.
  Result<ir::ValueId> Scores() {
    ir::ValueId q = GroupHeads(Heads(0, a_.q_heads, a_.qk_size), a_.qk_size);
    ASSIGN_OR_RETURN(q, Scaled(q, a_.scale, GroupedRows(a_.qk_size)));
    const ir::ValueId keys = Present(1, Heads(1, a_.kv_heads, a_.qk_size), a_.qk_size);
    const ir::ValueId columns =
        nodes_.Transpose(keys, {a_.batch, a_.kv_heads, a_.qk_size, a_.keys}, {0, 1, 3, 2});
    ir::ValueId scores = nodes_.Add("MatMul"_op, {q, columns}, GroupedRows(a_.keys));
    const Dims by_head = {a_.batch, a_.q_heads, a_.queries, a_.keys};
    if (group_ > 1) scores = nodes_.Reshape(scores, by_head);
    if (a_.softcap == 0) return scores;
    ASSIGN_OR_RETURN(scores, Scaled(scores, 1 / a_.softcap, by_head));
    return Scaled(nodes_.Add("Tanh"_op, {scores}, by_head), a_.softcap, by_head);
  }

  /// Operand `i` as [batch, heads, length, size].
  ir::ValueId Heads(size_t i, int64_t heads, int64_t size) {
    const ir::ValueId x = nodes_.like().inputs[i];
    if (!a_.packed) return x;
    const int64_t length = nodes_.ShapeOf(x)[1];
    const ir::ValueId split = nodes_.Reshape(x, {a_.batch, length, heads, size});
    return nodes_.Transpose(split, {a_.batch, heads, length, size}, kSwapHeads);
  }

  Dims GroupedRows(int64_t columns) const {
    return {a_.batch, a_.kv_heads, group_ * a_.queries, columns};
  }
  /// The rows of the query heads that share a key head, one behind the other.
  ir::ValueId GroupHeads(ir::ValueId x, int64_t columns) {
    return group_ == 1 ? x : nodes_.Reshape(x, GroupedRows(columns));
  }

  /// Keys (values) with those of the past before them, which are output `i` of the node, too.
  ir::ValueId Present(size_t i, ir::ValueId current, int64_t size) {
    const ir::ValueId past = nodes_.like().input(i + 3);
    if (past != ir::kAbsent)
      current = nodes_.Add("Concat"_op, {past, current}, {a_.batch, a_.kv_heads, a_.keys, size},
                           {{"axis", int64_t{2}}});
    if (nodes_.like().output(i) != ir::kAbsent)
      nodes_.editor().ReplaceOutput(id_, i, "Identity"_op, {current});
    return current;
  }

  Result<ir::ValueId> Scaled(ir::ValueId x, double factor, const Dims& dims) {
    if (factor == 1) return x;
    ASSIGN_OR_RETURN(const ir::ValueId number, nodes_.Number(factor));
    return nodes_.Add("Mul"_op, {x, number}, dims);
  }

  TypedNodes nodes_;
  ir::NodeId id_;
  const ops::AttentionShape& a_;
  int64_t group_;
};

/// The sizes of a node that can be spelled; nothing otherwise.
std::optional<ops::AttentionShape> AttentionSizes(const Editor& editor, const ir::Node& node) {
  if (node.output(3) != ir::kAbsent) return std::nullopt;
  const ir::ValueId lengths = node.input(6);
  if (lengths != ir::kAbsent && editor.value(lengths).dtype != DType::kI64) return std::nullopt;
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
    const std::optional<ops::AttentionShape> sizes = AttentionSizes(editor, editor.node(id));
    if (sizes) RETURN_IF_ERROR(AttentionSpeller(editor, id, *sizes).Spell());
  }
  return editor.Finish();
}

}  // namespace fettle::passes
