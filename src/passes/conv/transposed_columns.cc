#include "passes/conv/transposed_columns.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace fettle::passes {
namespace {

/// Channels come in vectors of this many on most processors, and pixels of a line.
constexpr double kLanes = 8, kPixels = 16;
/// In multiply-adds: what the addition of a column's element to its pixel takes, that of a line of
/// them more, an element of the output, one of the input where its line is copied, and one that is
/// loaded for some products.
constexpr double kAdd = 16, kLine = 256, kElement = 8, kCopy = 10, kLoad = 3;
/// Columns that stay near between the two.
constexpr int64_t kMostColumns = 1 << 20;
constexpr double kLeastRatio = 1.5;

/// The pads of the Col2Im, all begins before all ends; nothing where its blocks would not be the
/// pixels of the input.
std::optional<std::vector<int64_t>> ColumnPads(const Transposed& of) {
  std::vector<int64_t> begins = of.conv.pad_begin, ends;
  for (size_t i = 0; i < begins.size(); ++i) {
    const int axis = static_cast<int>(i);
    const int64_t last = (of.x[axis + 2] - 1) * of.conv.strides[i];
    const int64_t room = of.conv.output[i] + begins[i] - of.conv.Span(axis);
    ends.push_back(std::max<int64_t>(0, last - room));
    const bool is_last = room + ends[i] - last < of.conv.strides[i];
    if (begins[i] < 0 || !is_last) return std::nullopt;
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return begins;
}

double Number(int64_t n) { return static_cast<double>(n); }

/// Of sums for each output pixel, in vectors of channels or, where these are few, of pixels.
double DirectCost(const Transposed& of) {
  const double channels = Number(of.w[1]);
  double outputs = Number(of.x[0] * of.conv.group), sums = Number(of.inputs());
  for (size_t i = 0; i < of.conv.output.size(); ++i) {
    outputs *= Number(of.conv.output[i]);
    sums *= std::ceil(Number(of.conv.kernel[i]) / Number(of.conv.strides[i]));
  }
  const double vectors = std::ceil(channels / kLanes) * kLanes;
  const double by_channels = outputs * (sums * vectors + channels * kElement);
  const double line = Number(of.conv.output.back()) / Number(of.conv.strides.back());
  if (channels > kLanes || line < kLanes) return by_channels;
  const double lines = outputs / Number(of.conv.output.back());
  const double padding = std::ceil(line / kPixels) * kPixels / line;
  const double products = Number(of.columns()) * Number(of.inputs()) * padding;
  const double by_pixels = products * (1.25 + kLoad / channels) + Number(of.x.elements()) * kCopy +
                           (outputs * kElement + lines * kLine) * channels;
  return std::min(by_channels, by_pixels);
}

double ColumnsCost(const Transposed& of) {
  double outputs = Number(of.x[0] * of.conv.group * of.w[1]);
  for (const int64_t extent : of.conv.output) outputs *= Number(extent);
  const double add = kAdd + kLine / Number(of.x[of.x.rank() - 1]);
  return Number(of.columns()) * (Number(of.inputs()) + add) + outputs * kElement;
}

/// [ic, oc / group, k...] as [oc * taps, ic / group, 1...].
ir::ValueId ColumnWeights(TypedNodes& nodes, ir::ValueId weights, const Transposed& of) {
  const int64_t group = of.conv.group, outputs = of.w[1] * of.taps();
  const ir::ValueId split = nodes.Reshape(weights, {group, of.inputs(), outputs});
  const ir::ValueId turned = nodes.Transpose(split, {group, outputs, of.inputs()}, {0, 2, 1});
  Dims dims(of.w.rank(), 1);
  dims[0] = group * outputs;
  dims[1] = of.inputs();
  return nodes.Reshape(turned, dims);
}

void SpellColumns(Editor& editor, ir::NodeId id, const Transposed& of) {
  if (!TakesColumns(editor, id, of)) return;
  const ir::Node node = editor.node(id);
  TypedNodes nodes(editor, node, DType::kF32);
  const int64_t batch = of.x[0], channels = of.conv.group * of.w[1];
  Dims dims = of.x.dims();
  dims[1] = channels * of.taps();
  const ir::ValueId sums = nodes.Add(
      "Conv"_op, {node.inputs[0], ColumnWeights(nodes, node.inputs[1], of)}, std::move(dims),
      {{"kernel_shape", std::vector<int64_t>(of.conv.kernel.size(), 1)}, {"group", of.conv.group}});
  const ir::ValueId columns = nodes.Reshape(sums, {batch, channels * of.taps(), of.pixels()});
  std::vector<ir::ValueId> inputs{columns, nodes.Ints(of.conv.output), nodes.Ints(of.conv.kernel)};
  ir::Attributes attributes{
      {"pads", *ColumnPads(of)}, {"dilations", of.conv.dilations}, {"strides", of.conv.strides}};
  if (node.input(2) == ir::kAbsent) {
    editor.Replace(id, "Col2Im"_op, std::move(inputs), std::move(attributes));
    return;
  }
  Dims image{batch, channels}, bias{channels};
  image.insert(image.end(), of.conv.output.begin(), of.conv.output.end());
  bias.resize(of.conv.output.size() + 1, 1);
  const ir::ValueId summed =
      nodes.Add("Col2Im"_op, std::move(inputs), std::move(image), std::move(attributes));
  editor.Replace(id, "Add"_op, {summed, nodes.Reshape(node.inputs[2], bias)});
}

}  // namespace

bool TakesColumns(const Editor& editor, ir::NodeId id, const Transposed& of) {
  if (editor.value(editor.node(id).inputs[0]).dtype != DType::kF32) return false;
  if (of.columns() == 0 || of.columns() > kMostColumns || !ColumnPads(of)) return false;
  return DirectCost(of) >= kLeastRatio * ColumnsCost(of);
}

Result<bool> SpellTransposedColumns(ir::Graph& graph) {
  return RewriteTransposed(graph, SpellColumns);
}

}  // namespace fettle::passes
