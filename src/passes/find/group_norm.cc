#include "passes/find/group_norm.h"

#include "passes/conv/channel_affine.h"
#include "passes/edit/constants.h"
#include "passes/edit/editor.h"
#include "passes/edit/known_channels.h"

namespace fettle::passes {
namespace {

struct Groups {
  ir::ValueId x = ir::kAbsent;
  KnownChannels of_x;
  int64_t count = 0;
  double scale = 1, bias = 0;  // of all groups
  ir::NodeId end = -1;         // the Reshape back
};

/// The only reader of the only output of `id` where it is a Reshape; otherwise -1.
ir::NodeId ReshapeBehind(const Editor& editor, ir::NodeId id) {
  if (editor.node(id).outputs.size() != 1) return -1;
  const ir::NodeId reader = editor.OnlyReader(editor.node(id).outputs[0]);
  return reader >= 0 && editor.node(reader).op == "Reshape"_op ? reader : -1;
}

/// The one value that all elements of a constant of floats have.
std::optional<double> NumberOf(const Editor& editor, ir::ValueId id) {
  const Constant* constant = ConstantOf(editor.graph(), id);
  return constant == nullptr ? std::nullopt : UniformValue(*constant);
}

/// Whether a Reshape gives its operand the shape of `x`, whatever that is.
bool TakesShapeOf(const Editor& editor, const ir::Node& reshape, ir::ValueId x) {
  const ir::Node* shape = editor.Producer(reshape.inputs[1], "Shape"_op);
  return shape != nullptr && shape->inputs[0] == x && shape->attributes.Int("start", 0) == 0 &&
         !shape->attributes.Has("end");
}

/// How many groups a Reshape of `x` [n, c, ...] to [n, groups, ...] makes that `back` undoes; 0
/// where it is something else. Channels of a group are neighbours, so what is behind the groups is
/// theirs.
int64_t CountGroups(const Editor& editor, const ir::Node& split, const ir::Node& back,
                    const KnownChannels& of_x) {
  const ir::Value &x = editor.value(split.inputs[0]), &rows = editor.value(split.outputs[0]);
  const ir::Value& y = editor.value(back.outputs[0]);
  if (x.has_concrete_shape() && rows.has_concrete_shape() && y.has_concrete_shape()) {
    const bool keeps = *x.shape == *y.shape && x.shape->elements() > 0 && rows.shape->rank() >= 3 &&
                       (*rows.shape)[0] == (*x.shape)[0];
    return keeps && of_x.channels % (*rows.shape)[1] == 0 ? (*rows.shape)[1] : 0;
  }
  const auto shape = IntsOf(editor.graph(), split.inputs[1]);
  const bool splits = shape && shape->size() == 3 && (*shape)[0] == 0 && (*shape)[1] > 0 &&
                      (*shape)[2] == -1 && split.attributes.Int("allowzero", 0) == 0;
  if (!splits || !TakesShapeOf(editor, back, split.inputs[0])) return 0;
  return of_x.channels % (*shape)[1] == 0 ? (*shape)[1] : 0;
}

/// Where the InstanceNormalization `id` normalises groups of channels of a tensor [n, c, ...].
std::optional<Groups> ReadGroups(const Editor& editor, ir::NodeId id) {
  const ir::Node& node = editor.node(id);
  const ir::Node* split = editor.Producer(node.inputs[0], "Reshape"_op);
  const ir::NodeId back = ReshapeBehind(editor, id);
  if (split == nullptr || back < 0 || !editor.HasOneUse(node.inputs[0])) return std::nullopt;
  const auto of_x = ChannelsOf(editor, split->inputs[0]);
  if (!of_x || of_x->rank < 3) return std::nullopt;
  const int64_t count = CountGroups(editor, *split, editor.node(back), *of_x);
  const auto scale = NumberOf(editor, node.inputs[1]), bias = NumberOf(editor, node.inputs[2]);
  if (count == 0 || !scale || !bias) return std::nullopt;
  return Groups{split->inputs[0], *of_x, count, *scale, *bias, back};
}

Status Rewrite(Editor& editor, ir::NodeId id, const Groups& groups) {
  const auto [rank, channels] = groups.of_x;
  const DType dtype = editor.value(editor.node(id).inputs[1]).dtype;  // also that of x
  ChannelAffine affine(channels);
  affine.scale.assign(channels, groups.scale);
  affine.shift.assign(channels, groups.bias);
  ir::NodeId end = groups.end;
  while (true) {
    const ir::ValueId value = editor.node(end).outputs[0];
    const ir::NodeId next = editor.OnlyReader(value);
    const ChannelAxis axis{channels, rank - 2, rank};
    if (next < 0 || !Compose(editor.graph(), editor.node(next), value, axis, affine)) break;
    end = next;
  }
  ASSIGN_OR_RETURN(Constant scale, ConstantFrom(dtype, Shape{channels}, affine.scale));
  ASSIGN_OR_RETURN(Constant bias, ConstantFrom(dtype, Shape{channels}, affine.shift));
  const double epsilon = editor.node(id).attributes.Float("epsilon", 1e-5);
  editor.Replace(
      end, "GroupNormalization"_op,
      {groups.x, editor.AddConstant(std::move(scale)), editor.AddConstant(std::move(bias))},
      {{"num_groups", groups.count}, {"epsilon", epsilon}});
  return OkStatus();
}

}  // namespace

Result<bool> FindGroupNorm(ir::Graph& graph) {
  if (!HasOp(graph, {"InstanceNormalization"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead || editor.node(id).op != "InstanceNormalization"_op) continue;
    if (const auto groups = ReadGroups(editor, id)) RETURN_IF_ERROR(Rewrite(editor, id, *groups));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
