#include "passes/conv/transposed_columns.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace fettle::passes {
namespace {

/// Channels come in vectors of this many on most processors, and pixels of a line.
constexpr double kLanes = 8;
/// In multiply-adds, of which a cycle has 16: what the addition of a column's element to its pixel
/// takes, what it takes more from far, that of a line of them more, and of a plane of lines; an
/// element of the output, and one that is converted, too; a line of it that is summed up by itself,
/// each row of the kernel that meets it, and each of its channels; one of the input where its line
/// is copied; what each tap takes more than its products where vectors are of channels; and what
/// three steps take more than one.
constexpr double kAdd = 8, kFar = 16, kLine = 80, kPlane = 640;
constexpr double kElement = 10, kConverted = 16;
constexpr double kSums = 4096, kRowSums = 640, kChannelSums = 1024;
constexpr double kCopy = 5, kTap = 6, kSteps = 4e4;
/// Where vectors are of pixels, what a product takes, and the loads for it of a few channels' sums:
/// of all lines at once, and of each by itself.
constexpr double kProduct = 1, kLoad = 0.6, kLineProduct = 1.25, kLineLoad = 1.5;
/// Products for an element that are so few that vectors are of pixels, however many channels.
constexpr double kFewProducts = 128;
/// The share of a line's vectors that it has to fill.
constexpr double kFilled = 0.8, kFilledByGroup = 0.6;
/// Columns that stay near between the steps (those of twice as many are far), and the most of them
/// and of elements of an output.
constexpr int64_t kNearColumns = 1 << 20, kMostColumns = 1 << 22;
constexpr double kLeastRatio = 1.1;

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

/// What a convolution of as many pixels as the output has takes, where vectors are of channels.
double CostByChannels(const Transposed& of, double pixels, double taps) {
  const double channels = Number(of.w[1]);
  const double vectors = std::ceil(channels / kLanes) * kLanes;
  return pixels * ((Number(of.inputs()) + kTap) * taps * vectors + channels * kConverted);
}

bool IsUnit(const std::vector<int64_t>& strides) {
  return std::ranges::all_of(strides, [](int64_t step) { return step == 1; });
}

/// Of sums for each output pixel. Where there are few channels or products, vectors are of pixels:
/// of all lines at once or, with a stride, of each by itself, which it should fill.
double DirectCost(const Transposed& of) {
  const std::vector<int64_t>&output = of.conv.output, &strides = of.conv.strides;
  const double channels = Number(of.w[1]), inputs = Number(of.inputs());
  double pixels = Number(of.x[0] * of.conv.group), taps = 1;
  for (size_t i = 0; i < output.size(); ++i) {
    pixels *= Number(output[i]);
    taps *= Number(of.conv.kernel[i]) / Number(strides[i]);
  }
  const double by_channels = CostByChannels(of, pixels, taps);
  const double width = Number(output.back()), line = width / Number(strides.back());
  const auto by_pixels = [&](double product) {
    return pixels * channels * (inputs * taps * product + kElement) +
           Number(of.x.elements()) * kCopy;
  };
  if (IsUnit(strides)) {
    const int last = of.conv.spatial_rank() - 1;
    // Lines run through the padding; planes of it are left out.
    const double padded = (width + Number(of.conv.Span(last) - 1)) / width;
    if (kFilledByGroup * padded > 1) return by_channels;
    const double planes = last == 2 ? Number(of.x[2]) / Number(output[0]) : 1;
    const double product = (kProduct + kLoad / channels) * padded * planes;
    return std::min(by_channels, by_pixels(product));
  }
  const bool is_light = channels <= kLanes || inputs * taps <= kFewProducts;
  const double filled = line / (std::ceil(line / kLanes) * kLanes);
  if (!is_light || line < kLanes || filled < (of.conv.group > 1 ? kFilledByGroup : kFilled))
    return by_channels;
  const double rows = Number(of.taps() / of.conv.kernel.back());
  const double by_lines = by_pixels((kLineProduct + kLineLoad / channels) / filled) +
                          pixels / width * (kSums + rows * kRowSums + channels * kChannelSums);
  // Between channels-last neighbours the former convert nothing.
  return channels <= kLanes ? by_lines : std::min(by_channels, by_lines);
}

double ColumnsCost(const Transposed& of) {
  double outputs = Number(of.x[0] * of.conv.group * of.w[1]);
  for (const int64_t extent : of.conv.output) outputs *= Number(extent);
  const int last = of.x.rank() - 1;
  const double lines = last > 2 ? Number(of.x[last - 1]) : 1;
  const double far = std::clamp(Number(of.columns()) / Number(kNearColumns) - 1, 0.0, 1.0);
  const double add = kAdd + far * kFar + (kLine + kPlane / lines) / Number(of.x[last]);
  return Number(of.columns()) * (Number(of.inputs()) + add) + outputs * kElement + kSteps;
}

/// Whether each tap writes pixels of its own, of so many channels that one product of all of them
/// is put side by side (cpu.conv_transpose.pointwise.row) rather than added up.
bool WritesApart(const Transposed& of) {
  constexpr int64_t kManyRows = 48;
  const ops::ConvTransposeAttributes& conv = of.conv;
  for (size_t i = 0; i < conv.kernel.size(); ++i) {
    const bool is_dilated = conv.kernel[i] > 1 && conv.dilations[i] != 1;
    if (is_dilated || conv.kernel[i] > conv.strides[i] || conv.pad_begin[i] != 0) return false;
  }
  const int64_t rows = of.w[1] * of.taps() / conv.kernel.back() * conv.strides.back();
  return rows >= kManyRows && Number(of.pixels()) >= 4 * kLanes;
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
  const int64_t outputs = editor.value(editor.node(id).outputs[0]).shape->elements();
  if (of.columns() == 0 || !ColumnPads(of)) return false;
  // No kernel takes computed weights.
  if (!of.is_constant) return true;
  if (WritesApart(of)) return false;
  if (of.taps() == 1 && IsUnit(of.conv.strides)) return false;
  if (std::max(of.columns(), outputs) > kMostColumns) return false;
  return DirectCost(of) >= kLeastRatio * ColumnsCost(of);
}

Result<bool> SpellTransposedColumns(ir::Graph& graph) {
  return RewriteTransposed(graph, SpellColumns);
}

}  // namespace fettle::passes
