// Attributes of Resize and its interpolation tables.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/op.h"
#include "ops/resize/op.h"

namespace fettle::ops {
namespace {

template <typename E>
struct Name {
  std::string_view text;
  E value;
};

constexpr Name<ResizeMode> kModes[] = {{"nearest", ResizeMode::kNearest},
                                       {"linear", ResizeMode::kLinear},
                                       {"cubic", ResizeMode::kCubic}};
constexpr Name<NearestMode> kNearestModes[] = {
    {"round_prefer_floor", NearestMode::kRoundPreferFloor},
    {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
    {"floor", NearestMode::kFloor},
    {"ceil", NearestMode::kCeil},
    {"simple", NearestMode::kSimple}};
constexpr Name<CoordinateMode> kCoordinateModes[] = {
    {"half_pixel", CoordinateMode::kHalfPixel},
    {"half_pixel_symmetric", CoordinateMode::kHalfPixelSymmetric},
    {"pytorch_half_pixel", CoordinateMode::kPytorchHalfPixel},
    {"align_corners", CoordinateMode::kAlignCorners},
    {"asymmetric", CoordinateMode::kAsymmetric},
    {"tf_crop_and_resize", CoordinateMode::kTfCropAndResize},
    {"tf_half_pixel_for_nn", CoordinateMode::kTfHalfPixelForNn}};

template <typename E, size_t kCount>
Status ReadName(const ir::Attributes& attributes, std::string_view name, std::string_view fallback,
                const Name<E> (&table)[kCount], E& value) {
  const std::string text = attributes.Text(name, fallback);
  std::string expected;
  for (const Name<E>& row : table) {
    if (row.text == text) {
      value = row.value;
      return OkStatus();
    }
    expected += (expected.empty() ? "" : "|") + std::string(row.text);
  }
  return InvalidModel("attribute '{}': expected {}, got '{}'", name, expected, text);
}

/// The axes that scales, sizes and roi speak of.
Result<std::vector<int>> ReadAxes(const ir::Attributes& attributes, int rank) {
  std::vector<int> axes;
  if (!attributes.Has("axes")) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  for (int64_t axis : attributes.Ints("axes")) {
    const auto normal = NormaliseAxis(axis, rank);
    if (!normal || std::find(axes.begin(), axes.end(), *normal) != axes.end())
      return InvalidModel("attribute 'axes': {} is repeated or out of range", axis);
    axes.push_back(*normal);
  }
  return axes;
}

Status ApplyScales(const std::vector<double>& scales, const std::vector<int>& axes,
                   const Shape& input, ResizeAttributes& resize) {
  if (scales.size() != axes.size())
    return InvalidModel("scales: expected {} values, got {}", axes.size(), scales.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const double scale = scales[i];
    if (!(scale > 0 && scale < 1e9)) return InvalidModel("scales: {} is out of range", scale);
    resize.scales[axes[i]] = scale;
    // In float32, as the scales themselves: 10 * 0.7f shall be 7.
    const float extent = std::floor(static_cast<float>(input[axes[i]]) * static_cast<float>(scale));
    if (extent > static_cast<float>(kMaxElements))
      return InvalidModel("scales: {} is out of range", scale);
    resize.output[axes[i]] = static_cast<int64_t>(extent);
  }
  return OkStatus();
}

Status ApplySizes(const ir::Attributes& attributes, const std::vector<int64_t>& sizes,
                  const std::vector<int>& axes, const Shape& input, ResizeAttributes& resize) {
  if (sizes.size() != axes.size())
    return InvalidModel("sizes: expected {} values, got {}", axes.size(), sizes.size());
  const std::string policy = attributes.Text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    return InvalidModel(
        "attribute 'keep_aspect_ratio_policy': expected stretch|not_larger|not_smaller, got '{}'",
        policy);
  }
  double common = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t extent = input[axes[i]];
    if (sizes[i] < 0 || (extent == 0 && sizes[i] > 0))
      return InvalidModel("sizes: {} is out of range", sizes[i]);
    const double scale =
        extent == 0 ? 1.0 : static_cast<double>(sizes[i]) / static_cast<double>(extent);
    resize.scales[axes[i]] = scale;
    resize.output[axes[i]] = sizes[i];
    common = i == 0 ? scale
                    : (policy == "not_larger" ? std::min(common, scale) : std::max(common, scale));
  }
  if (policy == "stretch") return OkStatus();
  for (int axis : axes) {
    resize.scales[axis] = common;
    const double extent = std::floor(common * static_cast<double>(input[axis]) + 0.5);
    if (extent > static_cast<double>(kMaxElements)) return InvalidModel("sizes out of range");
    resize.output[axis] = static_cast<int64_t>(extent);
  }
  return OkStatus();
}

Status ApplyRoi(const std::vector<double>& roi, const std::vector<int>& axes,
                ResizeAttributes& resize) {
  if (resize.coordinate != CoordinateMode::kTfCropAndResize) return OkStatus();
  if (roi.size() != 2 * axes.size())
    return InvalidModel("roi: expected {} values, got {}", 2 * axes.size(), roi.size());
  for (double corner : roi) {
    if (!std::isfinite(corner)) return InvalidModel("roi: {} is not finite", corner);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    resize.roi_begin[axes[i]] = roi[i];
    resize.roi_end[axes[i]] = roi[i + axes.size()];
  }
  return OkStatus();
}

/// What one axis needs to map output positions to input positions.
struct Axis {
  double in, out, scale, roi_begin, roi_end;
  /// Extent before rounding: the scale decides, not the rounded extent.
  double exact_out() const { return in * scale; }
};

double ToInput(CoordinateMode mode, const Axis& axis, double i) {
  switch (mode) {
    case CoordinateMode::kHalfPixel: return (i + 0.5) / axis.scale - 0.5;
    case CoordinateMode::kHalfPixelSymmetric: {
      const double adjustment = axis.out / axis.exact_out();
      return axis.in / 2 * (1 - adjustment) + (i + 0.5) / axis.scale - 0.5;
    }
    case CoordinateMode::kPytorchHalfPixel:
      return axis.out > 1 ? (i + 0.5) / axis.scale - 0.5 : 0.0;
    case CoordinateMode::kAlignCorners:
      return axis.out > 1 ? i * (axis.in - 1) / (axis.exact_out() - 1) : 0.0;
    case CoordinateMode::kAsymmetric: return i / axis.scale;
    case CoordinateMode::kTfCropAndResize:
      if (axis.out > 1) {
        return axis.roi_begin * (axis.in - 1) +
               i * (axis.roi_end - axis.roi_begin) * (axis.in - 1) / (axis.out - 1);
      }
      return 0.5 * (axis.roi_begin + axis.roi_end) * (axis.in - 1);
    case CoordinateMode::kTfHalfPixelForNn: return (i + 0.5) / axis.scale;
  }
  return 0;
}

/// Scales arrive rounded to float32, so that a position meant to be 3 or 2.5 comes out as
/// 2.9999999: half-integers within float32 rounding are taken as exact.
double Snap(double x) {
  const double near = std::round(2 * x) / 2;
  return std::abs(x - near) <= 1e-6 * std::max(1.0, std::abs(x)) ? near : x;
}

double Nearest(NearestMode mode, double scale, double x) {
  switch (mode) {
    case NearestMode::kRoundPreferFloor: return std::ceil(x - 0.5);
    case NearestMode::kRoundPreferCeil: return std::floor(x + 0.5);
    case NearestMode::kFloor: return std::floor(x);
    case NearestMode::kCeil: return std::ceil(x);
    case NearestMode::kSimple: return scale < 1 ? std::ceil(x) : std::floor(x);
  }
  return x;
}

double Kernel(ResizeMode mode, double a, double distance) {
  const double d = std::abs(distance);
  if (mode == ResizeMode::kLinear) return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0.0;
}

/// The weights of one output whose position is `x`, for taps `first`, `first` + 1, ...
void FillTaps(const ResizeAttributes& resize, double x, double stretch, double first, double in,
              std::span<int64_t> index, std::span<double> weight) {
  double sum = 0;
  for (size_t t = 0; t < weight.size(); ++t) {
    const double at = first + static_cast<double>(t);
    weight[t] = Kernel(resize.mode, resize.cubic_a, (at - x) * stretch);
    if (resize.exclude_outside && (at < 0 || at >= in)) weight[t] = 0;
    index[t] = static_cast<int64_t>(std::clamp(at, 0.0, in - 1));
    sum += weight[t];
  }
  if ((resize.exclude_outside || resize.antialias) && sum != 0) {
    for (double& w : weight) w /= sum;
  }
}

}  // namespace

Result<ResizeAttributes> ReadResize(const ir::Node& node, const Shape& input,
                                    const ResizeOperands& operands) {
  const ir::Attributes& attributes = node.attributes;
  ResizeAttributes resize;
  RETURN_IF_ERROR(ReadName(attributes, "mode", "nearest", kModes, resize.mode));
  RETURN_IF_ERROR(
      ReadName(attributes, "nearest_mode", "round_prefer_floor", kNearestModes, resize.nearest));
  RETURN_IF_ERROR(ReadName(attributes, "coordinate_transformation_mode", "half_pixel",
                           kCoordinateModes, resize.coordinate));
  resize.cubic_a = attributes.Float("cubic_coeff_a", -0.75);
  resize.exclude_outside = attributes.Int("exclude_outside", 0) != 0;
  resize.antialias = attributes.Int("antialias", 0) != 0 && resize.mode != ResizeMode::kNearest;
  resize.extrapolation = attributes.Float("extrapolation_value", 0);
  const size_t rank = input.rank();
  resize.scales.assign(rank, 1);
  resize.roi_begin.assign(rank, 0);
  resize.roi_end.assign(rank, 1);
  resize.output = input;
  ASSIGN_OR_RETURN(const std::vector<int> axes, ReadAxes(attributes, input.rank()));
  if (operands.scales.empty() == operands.sizes.empty() && !axes.empty())
    return InvalidModel("expected either scales or sizes");
  if (!operands.sizes.empty()) {
    RETURN_IF_ERROR(ApplySizes(attributes, operands.sizes, axes, input, resize));
  } else {
    RETURN_IF_ERROR(ApplyScales(operands.scales, axes, input, resize));
  }
  RETURN_IF_ERROR(ApplyRoi(operands.roi, axes, resize));
  return resize;
}

bool AxisTaps::IsIdentity(int64_t input_extent) const {
  if (static_cast<int64_t>(outside.size()) != input_extent) return false;
  for (size_t i = 0; i < outside.size(); ++i) {
    if (outside[i]) return false;
    for (size_t t = i * taps; t < (i + 1) * taps; ++t) {
      if (weight[t] != 0 && index[t] != static_cast<int64_t>(i)) return false;
    }
  }
  return true;
}

namespace {

AxisTaps UntouchedTaps(int64_t begin, int64_t end) {
  AxisTaps taps{.first = begin};
  taps.index.resize(end - begin);
  std::iota(taps.index.begin(), taps.index.end(), begin);
  taps.weight.assign(end - begin, 1.0);
  taps.outside.assign(end - begin, false);
  return taps;
}

}  // namespace

AxisTaps MakeAxisTaps(const ResizeAttributes& resize, int64_t input_extent, int axis) {
  return MakeAxisTaps(resize, input_extent, axis, 0, resize.output[axis]);
}

AxisTaps MakeAxisTaps(const ResizeAttributes& resize, int64_t input_extent, int axis, int64_t begin,
                      int64_t end) {
  const size_t at = axis;
  const int64_t extent = resize.output[axis];
  const Axis a = {static_cast<double>(input_extent), static_cast<double>(extent), resize.scales[at],
                  resize.roi_begin[at], resize.roi_end[at]};
  const bool nearest = resize.mode == ResizeMode::kNearest;
  const bool crop = resize.coordinate == CoordinateMode::kTfCropAndResize;
  if (a.scale == 1 && extent == input_extent && !crop) return UntouchedTaps(begin, end);
  const double stretch = resize.antialias ? std::min(1.0, a.scale) : 1.0;
  // Taps reach `radius` to both sides of the position; the first lies at floor(x) - radius + 1.
  const double radius = std::ceil((resize.mode == ResizeMode::kCubic ? 2.0 : 1.0) / stretch);
  AxisTaps taps;
  taps.taps = nearest ? 1 : static_cast<int>(2 * radius);
  taps.first = begin;
  const size_t count = taps.taps, outputs = end - begin;
  taps.index.resize(outputs * count);
  taps.weight.resize(outputs * count, 1.0);
  taps.outside.resize(outputs, false);
  for (size_t i = 0; i < taps.outside.size(); ++i) {
    const auto out = static_cast<double>(begin + static_cast<int64_t>(i));
    const double x = Snap(ToInput(resize.coordinate, a, out));
    taps.outside[i] = crop && (x < 0 || x > a.in - 1);
    const double first =
        count == 1 ? Nearest(resize.nearest, a.scale, x) : std::floor(x) - radius + 1;
    const auto index = std::span(taps.index).subspan(i * count, count);
    if (count == 1) {
      index[0] = static_cast<int64_t>(std::clamp(first, 0.0, a.in - 1));
    } else {
      FillTaps(resize, x, stretch, first, a.in, index,
               std::span(taps.weight).subspan(i * count, count));
    }
  }
  return taps;
}

}  // namespace fettle::ops
