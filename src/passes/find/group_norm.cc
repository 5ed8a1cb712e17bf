#include "passes/find/group_norm.h"

#include "passes/conv/channel_affine.h"
#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

struct Groups {
  ir::ValueId x = ir::kAbsent;
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

/// Where the InstanceNormalization `id` normalises groups of channels of a tensor [n, c, ...].
std::optional<Groups> ReadGroups(const Editor& editor, ir::NodeId id) {
  const ir::Node& node = editor.node(id);
  const ir::Node* split = editor.Producer(node.inputs[0], "Reshape"_op);
  const ir::NodeId back = ReshapeBehind(editor, id);
  if (split == nullptr || back < 0 || !editor.HasOneUse(node.inputs[0])) return std::nullopt;
  const ir::Value &x = editor.value(split->inputs[0]), &rows = editor.value(node.inputs[0]);
  const ir::Value& y = editor.value(editor.node(back).outputs[0]);
  if (!x.has_concrete_shape() || !rows.has_concrete_shape() || !y.has_concrete_shape() ||
      *x.shape != *y.shape || x.shape->rank() < 3 || rows.shape->rank() < 3 ||
      x.shape->elements() == 0) {
    return std::nullopt;
  }
  const Shape &dims = *x.shape, &groups = *rows.shape;
  // Channels of a group are neighbours, so what is behind the groups is theirs.
  if (groups[0] != dims[0] || dims[1] % groups[1] != 0) return std::nullopt;
  const auto scale = NumberOf(editor, node.inputs[1]), bias = NumberOf(editor, node.inputs[2]);
  if (!scale || !bias) return std::nullopt;
  return Groups{split->inputs[0], groups[1], *scale, *bias, back};
}

Status Rewrite(Editor& editor, ir::NodeId id, const Groups& groups) {
  const Shape dims = *editor.value(groups.x).shape;
  const DType dtype = editor.value(groups.x).dtype;
  ChannelAffine affine(dims[1]);
  affine.scale.assign(dims[1], groups.scale);
  affine.shift.assign(dims[1], groups.bias);
  ir::NodeId end = groups.end;
  while (true) {
    const ir::ValueId value = editor.node(end).outputs[0];
    const ir::NodeId next = editor.OnlyReader(value);
    const ChannelAxis axis{dims[1], dims.rank() - 2, dims.rank()};
    if (next < 0 || !Compose(editor.graph(), editor.node(next), value, axis, affine)) break;
    end = next;
  }
  ASSIGN_OR_RETURN(Constant scale, ConstantFrom(dtype, Shape{dims[1]}, affine.scale));
  ASSIGN_OR_RETURN(Constant bias, ConstantFrom(dtype, Shape{dims[1]}, affine.shift));
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
