#include "passes/conv/fold_affine.h"

#include "passes/conv/channel_affine.h"
#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// A node with constant weights, and how its output channels lie in output and weights.
struct Anchor {
  ChannelAxis axis;
  int64_t inner = 1;                        // weights in a row of one channel
  std::function<int64_t(int64_t)> channel;  // of a row of weights
  bool has_bias = true;                     // operand 2 is a bias per channel
};

std::optional<Anchor> ReadAnchor(const Editor& editor, const ir::Node& node) {
  if (node.outputs.size() != 1) return std::nullopt;
  const Constant* weights = ConstantOf(editor.graph(), node.input(1));
  if (weights == nullptr || !IsFloat(weights->dtype())) return std::nullopt;
  const Shape& shape = weights->shape();
  if (shape.elements() == 0) return std::nullopt;
  Anchor anchor;
  if (node.op == "Conv"_op && shape.rank() > 2) {
    anchor.axis = {shape[0], shape.rank() - 2, shape.rank()};
    anchor.inner = shape.Count(1, shape.rank());
    anchor.channel = [](int64_t row) { return row; };
    return anchor;
  }
  if (node.op == "ConvTranspose"_op && shape.rank() > 2) {
    const int64_t group = node.attributes.Int("group", 1), ic = shape[0], oc = shape[1];
    if (group < 1 || ic % group != 0) return std::nullopt;
    anchor.axis = {oc * group, shape.rank() - 2, shape.rank()};
    anchor.inner = shape.Count(2, shape.rank());
    anchor.channel = [oc, per_group = ic / group](int64_t row) {
      return row / oc / per_group * oc + row % oc;
    };
    return anchor;
  }
  if ((node.op != "Gemm"_op && node.op != "MatMul"_op) || shape.rank() != 2) return std::nullopt;
  // Kernels of doubles multiply and do nothing else.
  if (editor.value(node.outputs[0]).dtype == DType::kF64) return std::nullopt;
  const bool is_gemm = node.op == "Gemm"_op;
  const bool transposed = is_gemm && node.attributes.Int("transB", 0) != 0;
  const int64_t columns = shape[transposed ? 0 : 1];
  const auto& output = editor.value(node.outputs[0]).shape;
  anchor.axis = {columns, 0, is_gemm ? 2 : output ? output->rank() : -1};
  anchor.inner = transposed ? shape[1] : 1;
  anchor.channel = [columns](int64_t row) { return row % columns; };
  anchor.has_bias = is_gemm;
  return anchor;
}

/// The bias of the anchor as one value per channel, times Gemm's beta.
std::optional<std::vector<double>> ReadBias(const Editor& editor, const ir::Node& node,
                                            int64_t channels) {
  const ir::ValueId bias = node.input(2);
  if (bias == ir::kAbsent) return std::vector<double>(channels);
  const Constant* constant = ConstantOf(editor.graph(), bias);
  if (constant == nullptr) return std::nullopt;
  const Shape& shape = constant->shape();
  const int64_t last = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  if (shape.elements() != last || (last != 1 && last != channels)) return std::nullopt;
  std::vector<double> values = DoublesOf(*constant);
  if (last == 1) values.assign(channels, values[0]);
  if (node.op == "Gemm"_op) {
    const double beta = node.attributes.Float("beta", 1);
    for (double& value : values) value *= beta;
  }
  return values;
}

/// The chain of nodes behind the anchor that make up `affine`; empty where there is none.
std::vector<ir::NodeId> Collect(const Editor& editor, ir::NodeId anchor, const ChannelAxis& axis,
                                ChannelAffine& affine) {
  std::vector<ir::NodeId> chain;
  for (ir::NodeId last = anchor;;) {
    const ir::ValueId value = editor.node(last).outputs[0];
    const ir::NodeId next = editor.OnlyReader(value);
    if (next < 0 || !Compose(editor.graph(), editor.node(next), value, axis, affine)) return chain;
    chain.push_back(next);
    last = next;
  }
}

/// Puts the anchor, with new weights and bias, in the place of the end of the chain.
Status Apply(Editor& editor, ir::NodeId id, const Anchor& anchor, const ChannelAffine& affine,
             ir::NodeId end) {
  const ir::Node node = editor.node(id);
  const Constant& weights = *ConstantOf(editor.graph(), node.inputs[1]);
  const DType dtype = weights.dtype();
  const Shape per_channel{anchor.axis.channels};
  ir::ValueId new_weights = node.inputs[1];
  std::vector<double> bias = affine.shift;
  if (anchor.has_bias) {
    const auto old = ReadBias(editor, node, anchor.axis.channels);
    if (!old) return OkStatus();
    for (size_t c = 0; c < bias.size(); ++c) bias[c] += (*old)[c] * affine.scale[c];
  }
  if (!affine.OnlyShifts()) {
    auto scaled = ScaleRows(weights, anchor.inner, anchor.channel, affine.scale);
    if (!scaled) return OkStatus();
    new_weights = editor.AddConstant(*std::move(scaled));
  }
  ASSIGN_OR_RETURN(Constant bias_constant, ConstantFrom(dtype, per_channel, bias));
  if (!anchor.has_bias) {
    const ir::ValueId product =
        editor.Add(node, node.op, {node.inputs[0], new_weights}, node.attributes);
    editor.Replace(end, "Add"_op, {product, editor.AddConstant(std::move(bias_constant))});
    return OkStatus();
  }
  ir::Attributes attributes = node.attributes;
  if (node.op == "Gemm"_op) attributes.Set("beta", 1.0);
  const std::vector<ir::ValueId> operands = {node.inputs[0], new_weights,
                                             editor.AddConstant(std::move(bias_constant))};
  const ir::NodeId made = editor.Replace(end, node.op, operands, std::move(attributes));
  editor.CopyProvenance(node, made);
  return OkStatus();
}

/// Whether folding is worth a rewrite: an Add alone behind a MatMul is what it would become.
bool IsWorthwhile(const std::vector<ir::NodeId>& chain, const Anchor& anchor,
                  const ChannelAffine& affine) {
  if (chain.empty()) return false;
  return anchor.has_bias || chain.size() > 1 || !affine.OnlyShifts();
}

}  // namespace

Result<bool> FoldAffine(ir::Graph& graph) {
  if (!HasOp(graph, {"BatchNormalization"_op, "Mul"_op, "Add"_op, "Sub"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead) continue;
    const std::optional<Anchor> anchor = ReadAnchor(editor, editor.node(id));
    if (!anchor) continue;
    ChannelAffine affine(anchor->axis.channels);
    const std::vector<ir::NodeId> chain = Collect(editor, id, anchor->axis, affine);
    if (!IsWorthwhile(chain, *anchor, affine)) continue;
    RETURN_IF_ERROR(Apply(editor, id, *anchor, affine, chain.back()));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
