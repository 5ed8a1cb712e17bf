#include "passes/rewrite/spell_rotary.h"

#include <optional>

#include "ops/attention/op.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

class RotarySpeller {
 public:
  RotarySpeller(Editor& editor, ir::NodeId id, const ops::RotaryShape& rotary)
      : nodes_(editor, editor.node(id), editor.value(editor.node(id).inputs[0]).dtype),
        id_(id),
        rotary_(rotary),
        given_(nodes_.ShapeOf(nodes_.like().inputs[0]).dims()),
        half_(rotary.rotated / 2) {}

  void Spell() {
    const ir::ValueId given = nodes_.like().inputs[0];
    const ir::ValueId x = rotary_.packed ? nodes_.Reshape(given, ByHead(rotary_.size)) : given;
    const ir::ValueId turned = nodes_.LastAxis(x, 0, rotary_.rotated);
    const ir::ValueId first = Pick(turned, 0), second = Pick(turned, 1);
    const ir::ValueId cosines = Cache(1), sines = Cache(2);
    const ir::ValueId to_first =
        Halves("Sub"_op, Halves("Mul"_op, first, cosines), Halves("Mul"_op, second, sines));
    const ir::ValueId to_second =
        Halves("Add"_op, Halves("Mul"_op, first, sines), Halves("Mul"_op, second, cosines));
    ir::ValueId y = Join(to_first, to_second);
    if (rotary_.rotated < rotary_.size) {
      const ir::ValueId rest = nodes_.LastAxis(x, rotary_.rotated, rotary_.size);
      y = nodes_.Add("Concat"_op, {y, rest}, ByHead(rotary_.size), {{"axis", int64_t{3}}});
    }
    if (rotary_.packed) y = nodes_.Reshape(y, given_);
    nodes_.editor().Replace(id_, "Identity"_op, {y});
  }

 private:
  /// [batch, length, heads, size] where packed, otherwise [batch, heads, length, size].
  Dims ByHead(int64_t size) const {
    return {given_[0], given_[1], rotary_.packed ? rotary_.heads : given_[2], size};
  }

  ir::ValueId Halves(ir::OpRef op, ir::ValueId a, ir::ValueId b) {
    return nodes_.Add(op, {a, b}, ByHead(half_));
  }

  /// The first or second element of all pairs.
  ir::ValueId Pick(ir::ValueId x, int64_t which) {
    if (!rotary_.interleaved) return nodes_.LastAxis(x, which * half_, (which + 1) * half_);
    Dims pairs = ByHead(half_);
    pairs.push_back(2);
    return nodes_.Reshape(nodes_.LastAxis(nodes_.Reshape(x, pairs), which, which + 1),
                          ByHead(half_));
  }

  /// The reverse of Pick.
  ir::ValueId Join(ir::ValueId first, ir::ValueId second) {
    const Dims joined = ByHead(rotary_.rotated);
    if (!rotary_.interleaved)
      return nodes_.Add("Concat"_op, {first, second}, joined, {{"axis", int64_t{3}}});
    Dims column = ByHead(half_), pairs = column;
    column.push_back(1);
    pairs.push_back(2);
    const ir::ValueId both =
        nodes_.Add("Concat"_op, {nodes_.Reshape(first, column), nodes_.Reshape(second, column)},
                   pairs, {{"axis", int64_t{4}}});
    return nodes_.Reshape(both, joined);
  }

  /// Cosines (input 1) or sines (input 2) of the positions, broadcast over heads.
  ir::ValueId Cache(size_t input) {
    const int64_t length = given_[rotary_.packed ? 1 : 2];
    ir::ValueId rows = nodes_.LastAxis(nodes_.like().inputs[input], 0, half_);
    const ir::ValueId positions = nodes_.like().input(3);
    if (positions != ir::kAbsent)
      rows = nodes_.Add("Gather"_op, {rows, positions}, {given_[0], length, half_},
                        {{"axis", int64_t{0}}});
    return nodes_.Reshape(rows, rotary_.packed ? Dims{given_[0], length, 1, half_}
                                               : Dims{given_[0], 1, length, half_});
  }

  TypedNodes nodes_;
  ir::NodeId id_;
  ops::RotaryShape rotary_;
  const Dims given_;
  const int64_t half_;
};

/// The sizes of a node that can be spelled; nothing otherwise.
std::optional<ops::RotaryShape> RotarySizes(const Editor& editor, const ir::Node& node) {
  const ir::Value& x = editor.value(node.inputs[0]);
  for (size_t i = 0; i < 4; ++i) {
    const ir::ValueId id = node.input(i);
    if (id == ir::kAbsent) continue;
    const ir::Value& value = editor.value(id);
    if (!value.has_concrete_shape() || value.shape->elements() == 0) return std::nullopt;
    if (i < 3 ? value.dtype != x.dtype : value.shape->rank() != 2) return std::nullopt;
  }
  const Result<ops::RotaryShape> rotary =
      ops::ReadRotary(node, *x.shape, *editor.value(node.inputs[1]).shape);
  return rotary.ok() && rotary->rotated > 0 ? std::optional(*rotary) : std::nullopt;
}

}  // namespace

Result<bool> SpellRotary(ir::Graph& graph) {
  if (!HasOp(graph, {"RotaryEmbedding"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead || editor.node(id).op != "RotaryEmbedding"_op) continue;
    const std::optional<ops::RotaryShape> sizes = RotarySizes(editor, editor.node(id));
    if (sizes) RotarySpeller(editor, id, *sizes).Spell();
  }
  return editor.Finish();
}

}  // namespace fettle::passes
