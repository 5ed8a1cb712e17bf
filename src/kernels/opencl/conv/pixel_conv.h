// Convolutions over tensors in pixels of four channels: what their kernels have in common.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "kernels/opencl/expression/expression.h"
#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {

/// A convolution of one or two dimensions with constant weights. Axes: height (1), width.
struct PixelConv {
  ir::ValueId x = ir::kAbsent, w = ir::kAbsent, b = ir::kAbsent, y = ir::kAbsent;
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
/// The extents of the plane of a tensor of rank 3 or 4.
inline std::array<int64_t, 2> PlaneOf(const Shape& shape) {
  return {shape.rank() == 3 ? 1 : shape[2], shape[shape.rank() - 1]};
}

/// Fills in the numbers of a Conv `node` over rank 3 or 4; kUnsupported with the reason.
Status ReadPixelGeometry(const ir::Graph& group, const ir::Node& node, PixelConv& conv);

/// The states of a group that computes `running` itself and finishes it by an expression: all
/// operands in pixels of one of PixelStates. kUnsupported where an operator cannot follow.
Result<std::vector<StateAssignment>> PixelCandidates(const ir::Graph& group, ir::ValueId running,
                                                     const Device& device);

/// Bias and weights in one blob: `bias` floats (channels beyond the bias get zero), then `elements`
/// weights of `storage`, each the element of the constant that `source` names, or zero (-1).
struct FilterForm {
  std::string recipe;
  int64_t bias = 0, elements = 0;
  std::function<int64_t(int64_t i)> source;
};
PackRequest RequestFilter(ir::ValueId w, ir::ValueId b, const FilterForm& form, DType storage);

/// All elements of a constant of a float or integer type, as floats.
std::vector<float> AllFloats(const Constant& constant);

/// Whether a GPU has so much arithmetic beside its memory that only tiles in local memory keep up
/// (opencl.conv.local): kernels without them leave such convolutions alone there.
bool BelongsInLocalMemory(const PixelConv& conv, const Device& device);

/// The position of a value among the inputs of its group.
size_t InputIndex(const ir::Graph& group, ir::ValueId id);

inline int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline cl_int2 Int2(int64_t x, int64_t y) {
  return {{static_cast<cl_int>(x), static_cast<cl_int>(y)}};
}
inline cl_int4 Int4(int64_t x, int64_t y, int64_t z, int64_t w) {
  return {{static_cast<cl_int>(x), static_cast<cl_int>(y), static_cast<cl_int>(z),
           static_cast<cl_int>(w)}};
}

/// (kernel rows, kernel columns, row stride, column stride)
inline cl_int4 WindowArg(const PixelConv& conv) {
  return Int4(conv.kernel[0], conv.kernel[1], conv.stride[0], conv.stride[1]);
}
/// (rows above, columns to the left, row dilation, column dilation)
inline cl_int4 BordersArg(const PixelConv& conv) {
  return Int4(conv.pad[0], conv.pad[1], conv.dilation[0], conv.dilation[1]);
}

/// The work-group of a kernel whose work-items lie along axis 0 and 1: tunables "group_x" and
/// "group_y", after the others because they are searched last.
void AppendGroupTunables(std::vector<Tunable>& tunables);
void AppendGroupDefaults(const WorkSizes& usual, Params& params);
Status CheckGroup(const Params& params, const Device& device);
std::array<size_t, 3> GroupOf(const Params& params);

}  // namespace fettle::kernels
