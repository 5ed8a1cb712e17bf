#include "passes/conv/dead_taps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/conv/op.h"
#include "passes/clean/fold_node.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {
namespace {

/// The taps [begin, end) that are left of each spatial axis.
using TapRanges = std::vector<ops::TapRange>;

/// Nothing where no axis has dead taps at its ends, or has no others.
std::optional<TapRanges> LiveTaps(const ops::ConvAttributes& conv, const Shape& x) {
  TapRanges ranges;
  bool cuts = false;
  for (int i = 0; i < conv.spatial_rank(); ++i) {
    const size_t at = i;
    const int64_t extent = x[i + 2], taps = conv.kernel[at];
    const int64_t last = ops::ConvOutputExtent(conv, i, extent) - 1;
    if (last < 0) return std::nullopt;
    // A tap's first position is its least, and taps never read further ahead than what pads it.
    const auto position = [&](int64_t tap, int64_t output) {
      return output * conv.strides[at] + tap * conv.dilations[at] - conv.pad_begin[at];
    };
    ops::TapRange live{0, taps};
    while (live.begin < taps && position(live.begin, last) < 0) ++live.begin;
    while (live.end > live.begin && position(live.end - 1, 0) >= extent) --live.end;
    if (live.begin >= live.end) return std::nullopt;
    // Pads stay, and are no negative numbers.
    live.begin = std::min(live.begin, conv.pad_begin[at] / conv.dilations[at]);
    live.end = std::max(live.end, taps - conv.pad_end[at] / conv.dilations[at]);
    cuts |= live.begin > 0 || live.end < taps;
    ranges.push_back(live);
  }
  return cuts ? std::optional(std::move(ranges)) : std::nullopt;
}

/// The operand of the node that holds the weights, as they are stored: of the Conv itself, or of
/// the DequantizeLinear before it that nobody else reads. Nothing where they are computed.
std::optional<std::pair<ir::NodeId, size_t>> WeightsOperand(const Editor& editor, ir::NodeId conv) {
  const ir::ValueId weights = editor.node(conv).inputs[1];
  if (ConstantOf(editor.graph(), weights) != nullptr) return std::pair(conv, size_t{1});
  const ir::NodeId maker = editor.ProducerId(weights);
  if (maker < 0 || editor.node(maker).op != "DequantizeLinear"_op || !editor.HasOneUse(weights))
    return std::nullopt;
  const ir::Node& dequantize = editor.node(maker);
  if (ConstantOf(editor.graph(), dequantize.inputs[0]) == nullptr) return std::nullopt;
  for (size_t i = 1; i < dequantize.inputs.size(); ++i) {
    const ir::ValueId id = dequantize.inputs[i];
    // One number, or one for each output channel.
    if (id != ir::kAbsent &&
        (!editor.value(id).has_concrete_shape() || editor.value(id).shape->rank() > 1))
      return std::nullopt;
  }
  if (dequantize.attributes.Int("block_size", 0) != 0) return std::nullopt;
  const bool is_whole = editor.value(dequantize.inputs[1]).shape->rank() == 0;
  const int64_t axis = dequantize.attributes.Int("axis", 1);
  if (!is_whole && (axis < 0 || axis > 1)) return std::nullopt;
  return std::pair(maker, size_t{0});
}

/// Elements of the weights that are left.
int64_t Left(const Shape& weights, const TapRanges& ranges) {
  int64_t elements = weights[0] * weights[1];
  for (const ops::TapRange& range : ranges) elements *= range.end - range.begin;
  return elements;
}

ir::ValueId Cut(Editor& editor, const ir::Node& like, ir::ValueId weights,
                const TapRanges& ranges) {
  const ir::Value& whole = editor.value(weights);
  TypedNodes nodes(editor, like, whole.dtype);
  Dims dims = whole.shape->dims();
  std::vector<int64_t> begins, ends, axes, steps(ranges.size(), 1);
  for (size_t i = 0; i < ranges.size(); ++i) {
    begins.push_back(ranges[i].begin);
    ends.push_back(ranges[i].end);
    axes.push_back(static_cast<int64_t>(i) + 2);
    dims[i + 2] = ranges[i].end - ranges[i].begin;
  }
  return nodes.Add(
      "Slice"_op,
      {weights, nodes.Ints(begins), nodes.Ints(ends), nodes.Ints(axes), nodes.Ints(steps)}, dims);
}

void CutTaps(Editor& editor, ir::NodeId id, const ops::ConvAttributes& conv,
             const TapRanges& ranges, std::pair<ir::NodeId, size_t> operand) {
  const ir::Node before = editor.node(id);
  const ir::ValueId stored = editor.node(operand.first).inputs[operand.second];
  const ir::ValueId cut = Cut(editor, before, stored, ranges);
  editor.SetInput(operand.first, operand.second, cut);
  if (operand.first != id)
    editor.SetType(before.inputs[1], editor.value(before.inputs[1]).dtype,
                   *editor.value(cut).shape);
  std::vector<int64_t> kernel, dilations = conv.dilations, begins = conv.pad_begin,
                               ends = conv.pad_end;
  for (size_t i = 0; i < ranges.size(); ++i) {
    kernel.push_back(ranges[i].end - ranges[i].begin);
    begins[i] -= ranges[i].begin * dilations[i];
    ends[i] -= (conv.kernel[i] - ranges[i].end) * dilations[i];
    if (kernel[i] == 1) dilations[i] = 1;
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  editor.SetAttribute(id, "auto_pad", std::string("NOTSET"));
  editor.SetAttribute(id, "pads", std::move(begins));
  editor.SetAttribute(id, "dilations", std::move(dilations));
  editor.SetAttribute(id, "kernel_shape", std::move(kernel));
}

void CutWhereDead(Editor& editor, ir::NodeId id) {
  const ir::Node& node = editor.node(id);
  const ir::Value &x = editor.value(node.inputs[0]), &weights = editor.value(node.inputs[1]);
  if (!x.has_concrete_shape() || !weights.has_concrete_shape()) return;
  const Shape& filter = *weights.shape;
  if (filter.rank() < 2 || filter.Count(2, filter.rank()) <= 1) return;  // no tap but one
  const Result<ops::ConvAttributes> conv = ops::ReadConv(node, *x.shape, *weights.shape);
  if (!conv.ok()) return;
  const std::optional<TapRanges> ranges = LiveTaps(*conv, *x.shape);
  // What is not folded would be cut anew in each run, and no kernel takes computed weights for it.
  if (!ranges || Left(filter, *ranges) > kMostFoldedElements) return;
  const auto operand = WeightsOperand(editor, id);
  if (operand) CutTaps(editor, id, *conv, *ranges, *operand);
}

}  // namespace

Result<bool> CutDeadTaps(ir::Graph& graph) {
  if (!HasOp(graph, {"Conv"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead && editor.node(id).op == "Conv"_op) CutWhereDead(editor, id);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
