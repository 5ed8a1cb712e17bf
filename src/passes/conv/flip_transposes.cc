#include "passes/conv/flip_transposes.h"

#include <numeric>
#include <optional>
#include <utility>

#include "passes/conv/transposed_columns.h"

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

void FlipWhereUnit(Editor& editor, ir::NodeId id, const Transposed& of) {
  if (of.is_constant && TakesColumns(editor, id, of)) return;
  const auto pads = ConvPads(of.conv, of.x);
  if (!pads) return;
  const ir::Node node = editor.node(id);
  TypedNodes nodes(editor, node, editor.value(node.inputs[1]).dtype);
  std::vector<ir::ValueId> inputs = node.inputs;
  inputs[1] = FlipWeights(nodes, node.inputs[1], of.conv.group);
  ir::Attributes attributes{{"pads", *pads},
                            {"dilations", of.conv.dilations},
                            {"strides", of.conv.strides},
                            {"kernel_shape", of.conv.kernel},
                            {"group", of.conv.group}};
  editor.Replace(id, "Conv"_op, std::move(inputs), std::move(attributes));
}

}  // namespace

Result<bool> FlipTransposes(ir::Graph& graph) { return RewriteTransposed(graph, FlipWhereUnit); }

}  // namespace fettle::passes
