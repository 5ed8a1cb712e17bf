// Resampling over space: attributes and interpolation tables, as kernels read them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

enum class ResizeMode { kNearest, kLinear, kCubic };
/// kSimple: opset 10's rule, which rounds down where an axis grows and up where it shrinks.
enum class NearestMode { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kSimple };
enum class CoordinateMode {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfCropAndResize,
  kTfHalfPixelForNn,
};

/// Resize resolved for one input shape; one scale and one roi interval per axis of the input.
struct ResizeAttributes {
  ResizeMode mode = ResizeMode::kNearest;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  CoordinateMode coordinate = CoordinateMode::kHalfPixel;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double extrapolation = 0;  // for kTfCropAndResize
  std::vector<double> scales, roi_begin, roi_end;
  Shape output;
};

/// A resized integer is the blend without its fraction. A blend less than this away from a whole
/// number counts as that number, because weights are rounded.
constexpr double kNoFraction = 0x1p-11;

/// The value operands of Resize; empty where absent.
struct ResizeOperands {
  std::vector<double> roi, scales;
  std::vector<int64_t> sizes;
};
Result<ResizeAttributes> ReadResize(const ir::Node& node, const Shape& input,
                                    const ResizeOperands& operands);

/// One axis of a separable interpolation: output first + i is the sum over t < taps of
/// weight[i * taps + t] * input[index[i * taps + t]]; indices are clamped to the input. Where
/// `outside[i]`, the result is the extrapolation value instead.
struct AxisTaps {
  int taps = 1;
  int64_t first = 0;
  std::vector<int64_t> index;
  std::vector<double> weight;
  std::vector<bool> outside;

  /// True if output i is input i.
  bool IsIdentity(int64_t input_extent) const;
};
/// For outputs [begin, end) of `axis`. Valid for every mode, nearest (one tap of weight 1)
/// included.
AxisTaps MakeAxisTaps(const ResizeAttributes& resize, int64_t input_extent, int axis, int64_t begin,
                      int64_t end);
/// The same for all outputs.
AxisTaps MakeAxisTaps(const ResizeAttributes& resize, int64_t input_extent, int axis);

/// GridSample over n - 2 spatial axes.
struct GridSampleAttributes {
  enum class Padding { kZeros, kBorder, kReflection };
  ResizeMode mode = ResizeMode::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};
Result<GridSampleAttributes> ReadGridSample(const ir::Node& node);

/// Cubic convolution weights of the four neighbours -1, 0, 1, 2 of a position `ratio` behind
/// neighbour 0 (Keys, 1981).
void CubicWeights(double ratio, double a, double (&weights)[4]);

/// Col2Im, resolved; `columns` is the number of block positions.
struct Col2ImAttributes {
  std::vector<int64_t> image, block, strides, dilations, pad_begin, pad_end;
  std::vector<int64_t> positions;  // per spatial axis
};
Result<Col2ImAttributes> ReadCol2Im(const ir::Node& node, std::span<const int64_t> image,
                                    std::span<const int64_t> block);

/// CenterCropPad: the output shape, and per axis the shift: output i is input i + shift where that
/// exists, else 0.
struct CenterCropPadAttributes {
  Shape output;
  std::vector<int64_t> shift;
};
Result<CenterCropPadAttributes> ReadCenterCropPad(const ir::Node& node, const Shape& input,
                                                  std::span<const int64_t> shape);

}  // namespace fettle::ops
