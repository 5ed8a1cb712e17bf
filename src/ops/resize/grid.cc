// Attributes of GridSample, Col2Im and CenterCropPad.
#include <algorithm>

#include "ops/op.h"
#include "ops/resize/op.h"
#include "ops/window.h"

namespace fettle::ops {

Result<GridSampleAttributes> ReadGridSample(const ir::Node& node) {
  GridSampleAttributes grid;
  const std::string mode = node.attributes.Text("mode", "linear");
  const std::string padding = node.attributes.Text("padding_mode", "zeros");
  if (mode != "linear" && mode != "nearest" && mode != "cubic")
    return InvalidModel("attribute 'mode': expected linear|nearest|cubic, got '{}'", mode);
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    return InvalidModel("attribute 'padding_mode': expected zeros|border|reflection, got '{}'",
                        padding);
  }
  if (mode == "nearest") grid.mode = ResizeMode::kNearest;
  if (mode == "cubic") grid.mode = ResizeMode::kCubic;
  if (padding == "border") grid.padding = GridSampleAttributes::Padding::kBorder;
  if (padding == "reflection") grid.padding = GridSampleAttributes::Padding::kReflection;
  grid.align_corners = node.attributes.Int("align_corners", 0) != 0;
  return grid;
}

void CubicWeights(double ratio, double a, double (&weights)[4]) {
  const auto outer = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  const auto inner = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  weights[0] = outer(ratio + 1);
  weights[1] = inner(ratio);
  weights[2] = inner(1 - ratio);
  weights[3] = outer(2 - ratio);
}

Result<Col2ImAttributes> ReadCol2Im(const ir::Node& node, std::span<const int64_t> image,
                                    std::span<const int64_t> block) {
  const size_t rank = image.size();
  Col2ImAttributes col;
  col.image.assign(image.begin(), image.end());
  col.block.assign(block.begin(), block.end());
  col.strides = node.attributes.Ints("strides", Dims(rank, 1));
  col.dilations = node.attributes.Ints("dilations", Dims(rank, 1));
  const std::vector<int64_t> pads = node.attributes.Ints("pads", Dims(2 * rank, 0));
  RETURN_IF_ERROR(CheckRange("image_shape", col.image, rank, 1));
  RETURN_IF_ERROR(CheckRange("block_shape", col.block, rank, 1));
  RETURN_IF_ERROR(CheckRange("strides", col.strides, rank, 1));
  RETURN_IF_ERROR(CheckRange("dilations", col.dilations, rank, 1));
  RETURN_IF_ERROR(CheckRange("pads", pads, 2 * rank, 0));
  const auto middle = pads.begin() + static_cast<ptrdiff_t>(rank);
  col.pad_begin.assign(pads.begin(), middle);
  col.pad_end.assign(middle, pads.end());
  for (size_t i = 0; i < rank; ++i) {
    const int64_t room = col.image[i] + col.pad_begin[i] + col.pad_end[i] -
                         ((col.block[i] - 1) * col.dilations[i] + 1);
    if (room < 0) return InvalidModel("the block does not fit the image");
    col.positions.push_back(room / col.strides[i] + 1);
  }
  return col;
}

Result<CenterCropPadAttributes> ReadCenterCropPad(const ir::Node& node, const Shape& input,
                                                  std::span<const int64_t> shape) {
  std::vector<int64_t> axes = node.attributes.Ints("axes");
  if (!node.attributes.Has("axes")) {
    for (int i = 0; i < input.rank(); ++i) axes.push_back(i);
  }
  if (axes.size() != shape.size())
    return InvalidModel("shape: expected {} values, got {}", axes.size(), shape.size());
  CenterCropPadAttributes crop;
  crop.output = input;
  crop.shift.assign(input.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = NormaliseAxis(axes[i], input.rank());
    if (!axis) return InvalidModel("attribute 'axes': {} is out of range", axes[i]);
    if (shape[i] < 0 || shape[i] > kMaxElements)
      return InvalidModel("shape: {} is out of range", shape[i]);
    const int64_t extent = input[*axis];
    crop.output[*axis] = shape[i];
    crop.shift[*axis] = shape[i] < extent ? (extent - shape[i]) / 2 : -((shape[i] - extent) / 2);
  }
  return crop;
}

}  // namespace fettle::ops
