// Convolutions over tensors in pixels of four channels: what their kernels have in common.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/opencl/constant_floats.h"
#include "kernels/opencl/conv/filter.h"
#include "kernels/opencl/pixels.h"

namespace fettle::kernels {

/// A convolution of one or two dimensions with constant weights. Axes: height (1), width.
struct PixelConv {
  ir::ValueId x = ir::kAbsent, w = ir::kAbsent, b = ir::kAbsent;
  ir::ValueId y = ir::kAbsent;  // what an expression finishes
  int64_t batch = 1, ic = 0, oc = 0, groups = 1;
  std::array<int64_t, 2> in{}, out{}, kernel{}, stride{}, dilation{}, pad{};

  int64_t taps() const { return kernel[0] * kernel[1]; }
  /// Each pixel of the output is a product of one pixel of the input.
  bool IsPointwise() const {
    return taps() == 1 && groups == 1 && stride == std::array<int64_t, 2>{1, 1} && in == out;
  }
};

/// The operands of node 0, which must be `op` with a computed float input and constant weights and
/// bias; otherwise kUnsupported with the reason.
Result<PixelConv> ReadPixelOperands(const ir::Graph& group, std::string_view op);
/// kUnsupported where kernels cannot count the elements of a tensor.
Status CheckCounts(const Shape& x, const Shape& w, const Shape& y);

/// Reads node 0, a Conv over rank 3 or 4 of a computed float input with constant weights and bias;
/// otherwise kUnsupported with the reason.
Result<PixelConv> ReadPixelConv(const ir::Graph& group);

/// Element `axis` (0 height, 1 width) of a window's numbers, `one` where they are of the width
/// alone.
inline int64_t AlongPlane(const std::vector<int64_t>& numbers, size_t axis, int64_t one) {
  const size_t missing = 2 - numbers.size();
  return axis < missing ? one : numbers[axis - missing];
}

/// Fills in the numbers of a Conv `node` over rank 3 or 4; kUnsupported with the reason.
Status ReadPixelGeometry(const ir::Graph& group, const ir::Node& node, PixelConv& conv);

/// Whether a GPU has so much arithmetic beside its memory that only tiles in local memory keep up
/// (opencl.conv.local): kernels without them are less preferred there.
bool BelongsInLocalMemory(const PixelConv& conv, const Device& device);

/// (kernel rows, kernel columns, row stride, column stride)
inline cl_int4 WindowArg(const PixelConv& conv) {
  return Int4(conv.kernel[0], conv.kernel[1], conv.stride[0], conv.stride[1]);
}
/// (rows above, columns to the left, row dilation, column dilation)
inline cl_int4 BordersArg(const PixelConv& conv) {
  return Int4(conv.pad[0], conv.pad[1], conv.dilation[0], conv.dilation[1]);
}

/// What the program of a convolution takes beside its operands.
struct ConvProgram {
  PixelProgram program;
  PackRequest filter;
  int64_t bias = 0;  // floats before the weights in `filter`
};
/// A launch whose arguments begin with x, its dims, y, its dims (RecordPixels), the number of
/// output channels, the filter and the floats of its bias.
Result<std::unique_ptr<RecordedKernel>> RecordConv(const Problem& problem, const PixelConv& conv,
                                                   ConvProgram program, const Device& device);
/// The same with a filter of `form` in the storage type of the output.
Result<std::unique_ptr<RecordedKernel>> RecordConv(const Problem& problem, const PixelConv& conv,
                                                   const FilterForm& form, PixelProgram program,
                                                   const Device& device);

/// The work-group of a kernel whose work-items lie along axis 0 and 1: tunables "group_x" and
/// "group_y", after the others because they are searched last.
void AppendGroupTunables(std::vector<Tunable>& tunables);
void AppendGroupDefaults(const WorkSizes& usual, Params& params);
Status CheckGroup(const Problem&, const Params& params, const Device& device);
std::array<size_t, 3> GroupOf(const Params& params);

/// A work-item for each `columns` of an output row, each block of its channels and each image.
WorkSizes RowTileSizes(const PixelConv& conv, int64_t columns, int64_t blocks,
                       const Params& params);

}  // namespace fettle::kernels
