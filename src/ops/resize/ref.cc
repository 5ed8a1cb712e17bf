// Scalar oracle of Resize: tables of taps per axis, their products summed in double.
#include <cmath>
#include <limits>

#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/resize/op.h"

namespace fettle::ops {
namespace {

/// Integers are truncated after saturation, as existing engines do (kNoFraction).
template <typename T>
T Store(double value) {
  if constexpr (!kIsFloating<T>) {
    if (!(value > static_cast<double>(std::numeric_limits<T>::lowest())))
      return std::numeric_limits<T>::lowest();
    if (value >= static_cast<double>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
    return Narrow<T>(value + std::copysign(kNoFraction, value));
  }
  return Narrow<T>(value);
}

/// Sum over the taps of axes [axis, rank) at output `out`.
template <typename T>
double Interpolate(const HostView& x, std::span<const AxisTaps> axes, size_t axis,
                   std::span<const int64_t> out, int64_t offset) {
  if (axis == axes.size()) return static_cast<double>(Widen(x.as<T>()[offset]));
  const AxisTaps& taps = axes[axis];
  const size_t count = taps.taps;
  const size_t first = (out[axis] - taps.first) * count;
  if (count == 1)
    return Interpolate<T>(x, axes, axis + 1, out, offset + taps.index[first] * x.strides[axis]);
  double sum = 0;
  for (size_t t = first; t < first + count; ++t) {
    const double weight = taps.weight[t];
    if (weight == 0) continue;
    const int64_t at = offset + taps.index[t] * x.strides[axis];
    sum += weight * Interpolate<T>(x, axes, axis + 1, out, at);
  }
  return sum;
}

}  // namespace

Status ResizeReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ResizeOperands operands;
  if (context.has_input(1)) operands.roi = DoublesOf(context.inputs[1]);
  if (context.has_input(2)) operands.scales = DoublesOf(context.inputs[2]);
  if (context.has_input(3)) operands.sizes = IntsOf(context.inputs[3]);
  ASSIGN_OR_RETURN(const ResizeAttributes resize, ReadResize(context.node, x.shape, operands));
  std::vector<AxisTaps> axes;
  const std::vector<IndexRange> ranges = IndexRanges(y.shape, region);
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    const IndexRange& range = ranges[axis];
    axes.push_back(MakeAxisTaps(resize, x.shape[axis], axis, range.begin, range.end));
  }
  DispatchDType(x.dtype, [&]<typename T>() {
    ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> out) {
      bool outside = false;
      for (size_t axis = 0; axis < axes.size(); ++axis)
        outside = outside || axes[axis].outside[out[axis] - axes[axis].first];
      const double value = outside ? resize.extrapolation : Interpolate<T>(x, axes, 0, out, 0);
      y.as<T>()[y.Offset(out)] = Store<T>(value);
    });
  });
  return OkStatus();
}

}  // namespace fettle::ops
