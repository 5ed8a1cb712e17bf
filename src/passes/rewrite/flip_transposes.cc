#include "passes/rewrite/flip_transposes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "ops/conv_transpose/op.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

/// The pads of the Conv, all begins before all ends; nothing where one would be negative or a
/// stride is not 1.
std::optional<std::vector<int64_t>> ConvPads(const ops::ConvTransposeAttributes& conv,
                                             const Shape& x) {
  std::vector<int64_t> begins, ends;
  for (int i = 0; i < conv.spatial_rank(); ++i) {
    const size_t at = i;
    if (conv.strides[at] != 1) return std::nullopt;
    const int64_t reach = conv.Span(i) - 1;
    begins.push_back(reach - conv.pad_begin[at]);
    ends.push_back(conv.output[at] - x[i + 2] + reach - begins.back());
    if (begins.back() < 0 || ends.back() < 0) return std::nullopt;
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return begins;
}

/// [ic, oc / group, k...] as [oc, ic / group, k...], its taps in reverse order.
ir::ValueId FlipWeights(TypedNodes& nodes, ir::ValueId weights, int64_t group) {
  Dims dims = nodes.ShapeOf(weights).dims();
  const int rank = static_cast<int>(dims.size());
  std::vector<int64_t> axes(rank - 2), begins(axes.size(), -1), ends(axes.size(), INT64_MIN + 1);
  std::iota(axes.begin(), axes.end(), 2);
  const ir::ValueId flipped = nodes.Add(
      "Slice"_op,
      {weights, nodes.Ints(begins), nodes.Ints(ends), nodes.Ints(axes), nodes.Ints(begins)}, dims);
  Dims grouped{group, dims[0] / group};
  grouped.insert(grouped.end(), dims.begin() + 1, dims.end());
  const ir::ValueId split = nodes.Reshape(flipped, grouped);
  std::vector<int64_t> perm(rank + 1);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[1], perm[2]);
  std::swap(grouped[1], grouped[2]);
  const ir::ValueId exchanged = nodes.Transpose(split, grouped, std::move(perm));
  dims[0] = grouped[0] * grouped[1];
  dims[1] = grouped[2];
  return nodes.Reshape(exchanged, dims);
}

void FlipWhereUnit(Editor& editor, ir::NodeId id) {
  const ir::Node node = editor.node(id);
  const ir::Value &x = editor.value(node.inputs[0]), &weights = editor.value(node.inputs[1]);
  if (!x.has_concrete_shape() || ConstantOf(editor.graph(), node.inputs[1]) == nullptr) return;
  if (weights.shape->rank() < 3 || weights.shape->Count(0, weights.shape->rank()) == 0) return;
  const auto conv = ops::ReadConvTranspose(node, *x.shape, *weights.shape);
  if (!conv.ok()) return;
  auto pads = ConvPads(*conv, *x.shape);
  if (!pads) return;
  TypedNodes nodes(editor, node, weights.dtype);
  std::vector<ir::ValueId> inputs = node.inputs;
  inputs[1] = FlipWeights(nodes, node.inputs[1], conv->group);
  ir::Attributes attributes{{"pads", std::move(*pads)},
                            {"dilations", conv->dilations},
                            {"strides", conv->strides},
                            {"kernel_shape", conv->kernel},
                            {"group", conv->group}};
  editor.Replace(id, "Conv"_op, std::move(inputs), std::move(attributes));
}

}  // namespace

Result<bool> FlipTransposes(ir::Graph& graph) {
  if (!HasOp(graph, {"ConvTranspose"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "ConvTranspose"_op)
      FlipWhereUnit(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
