#include "sweep/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/words.h"
#include "ir/noise.h"
#include "ops/op.h"

namespace fettle::tools {
namespace {

enum Axis { kCin, kCout, kSize, kKernel, kStride };

constexpr int64_t kLargest = int64_t{1} << 20;
constexpr size_t kMostPoints = 100000;

template <typename T>
bool ReadNumber(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// One item of a list: a size, or a range of them. False where it is neither.
bool AddItem(std::string_view item, std::vector<int64_t>& sizes) {
  if (item.ends_with(':')) return false;
  const std::string_view first = TakeUntil(':', item), last = TakeUntil(':', item);
  int64_t from = 0, to = 0, step = 0;
  double factor = 2;
  if (!ReadNumber(first, from) || from < 1 || from > kLargest) return false;
  to = from;
  if (!last.empty() && (!ReadNumber(last, to) || to < from || to > kLargest)) return false;
  if (item.starts_with('x')) {
    if (!ReadNumber(item.substr(1), factor) || !(factor > 1) || factor > 1e6) return false;
  } else if (!item.empty() && (!ReadNumber(item, step) || step < 1)) {
    return false;
  }
  for (int64_t size = from; size <= to;) {
    sizes.push_back(size);
    const auto larger = static_cast<int64_t>(std::llround(static_cast<double>(size) * factor));
    size = step > 0 ? size + step : std::max(size + 1, larger);
  }
  return true;
}

ir::ValueId AddFloat(ir::Graph& graph, const std::string& name, float value) {
  return graph.AddConstant(
      name, Constant::Splat(DType::kF32, Shape{}, std::as_bytes(std::span(&value, 1))));
}

ir::ValueId AddResult(ir::Graph& graph, ir::OpRef op, std::vector<ir::ValueId> inputs,
                      const std::string& name, ir::Attributes attributes = {}) {
  const ir::ValueId result = graph.AddValue({.name = name});
  ir::Node node;
  node.op = op;
  node.name = name;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  node.outputs = {result};
  graph.AddNode(std::move(node));
  return result;
}

/// The value as floats, where it is of integers.
ir::ValueId Dequantised(ir::Graph& graph, ir::ValueId value, const std::string& name, float scale,
                        DType type) {
  const std::byte zero{static_cast<unsigned char>(type == DType::kU8 ? 128 : 0)};
  const ir::ValueId point =
      graph.AddConstant(name + "_zero", Constant::Splat(type, Shape{}, std::span(&zero, 1)));
  return AddResult(graph, "DequantizeLinear"_op,
                   {value, AddFloat(graph, name + "_scale", scale), point}, name);
}

}  // namespace

Result<std::vector<int64_t>> ParseSizes(std::string_view option, std::string_view text) {
  std::vector<int64_t> sizes;
  std::string_view left = text;
  do {
    if (!AddItem(TakeUntil(',', left), sizes))
      return InvalidArgument(
          "{} {}: expected sizes, 8, 8:256 (doubled), 8:256:8 (steps) or 8:256:x1.5 (factors), "
          "separated by commas",
          option, text);
  } while (!left.empty());
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

Result<std::vector<SweepPoint>> ListPoints(
    const SweepNetwork& network, const std::array<std::vector<int64_t>, kSweepAxes.size()>& sizes) {
  std::vector<SweepPoint> points = {SweepPoint{}};
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const bool follows = axis == kCout && network.op == "depthwise";
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points) {
      for (int64_t size : follows ? std::vector<int64_t>{point[kCin]} : sizes[axis]) {
        longer.push_back(point);
        longer.back()[axis] = size;
      }
      if (longer.size() > kMostPoints)
        return InvalidArgument("the grid has over {} points", kMostPoints);
    }
    points = std::move(longer);
  }
  return points;
}

Result<ir::Graph> PointGraph(const SweepNetwork& network, const SweepPoint& point) {
  const bool is_depthwise = network.op == "depthwise", is_int8 = network.type == "int8";
  const int64_t edge = point[kKernel], stride = point[kStride];
  const Shape weight_shape{point[kCout], is_depthwise ? 1 : point[kCin], edge, edge};
  const DType weight_type = is_int8 ? DType::kI8 : DType::kF32;
  ASSIGN_OR_RETURN(const Tensor weights,
                   ir::NoiseTensor(weight_type, weight_shape, network.seed,
                                   is_int8 ? ir::NoiseRange{-127, 127} : ir::NoiseRange{}));
  ir::Graph graph;
  graph.inputs = {graph.AddValue({.name = "x",
                                  .dtype = is_int8 ? DType::kU8 : DType::kF32,
                                  .shape = Shape{1, point[kCin], point[kSize], point[kSize]}})};
  ir::ValueId x = graph.inputs[0], w = graph.AddConstant("w", Constant::FromTensor(weights));
  if (is_int8) {
    x = Dequantised(graph, x, "x_float", 0.02F, DType::kU8);
    w = Dequantised(graph, w, "w_float", 0.01F, DType::kI8);
  }
  const int64_t before = (edge - 1) / 2, after = edge - 1 - before;
  ir::ValueId y = AddResult(graph, "Conv"_op, {x, w}, is_int8 ? "y_float" : "y",
                            {{"kernel_shape", std::vector<int64_t>{edge, edge}},
                             {"strides", std::vector<int64_t>{stride, stride}},
                             {"pads", std::vector<int64_t>{before, before, after, after}},
                             {"group", is_depthwise ? point[kCin] : int64_t{1}}});
  if (is_int8) {
    const std::byte zero{128};
    y = AddResult(
        graph, "QuantizeLinear"_op,
        {y, AddFloat(graph, "y_scale", 0.1F),
         graph.AddConstant("y_zero", Constant::Splat(DType::kU8, Shape{}, std::span(&zero, 1)))},
        "y");
  }
  graph.outputs = {y};
  return graph;
}

int64_t PointMacs(const SweepNetwork& network, const SweepPoint& point) {
  const int64_t out = (point[kSize] - 1) / point[kStride] + 1;
  const int64_t inputs = network.op == "depthwise" ? 1 : point[kCin];
  return point[kCout] * inputs * out * out * point[kKernel] * point[kKernel];
}

}  // namespace fettle::tools
