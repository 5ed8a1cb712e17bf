// Scalar oracles of GridSample and AffineGrid.
#include <algorithm>
#include <cmath>

#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/resize/op.h"

namespace fettle::ops {
namespace {

using Padding = GridSampleAttributes::Padding;

/// Mirrors `x` into [low, high]; NaN stays.
double Reflect(double x, double low, double high) {
  const double range = high - low;
  if (!(range > 0)) return std::isnan(x) ? x : low;
  const double behind = std::fmod(std::abs(x - low), 2 * range);
  return low + (behind > range ? 2 * range - behind : behind);
}

/// The input index of integer position `x`, or -1 where zeros lie.
int64_t PaddedIndex(const GridSampleAttributes& grid, double x, int64_t extent) {
  const auto last = static_cast<double>(extent - 1);
  if (!(x >= 0 && x <= last)) {
    if (grid.padding == Padding::kZeros || std::isnan(x)) return -1;
    if (grid.padding == Padding::kReflection)
      x = grid.align_corners ? Reflect(x, 0, last) : Reflect(x, -0.5, last + 0.5);
    if (std::isnan(x)) return -1;  // infinity has no mirror image
    x = std::clamp(x, 0.0, last);
  }
  return static_cast<int64_t>(x);
}

struct PointTaps {
  int count = 1;
  int64_t index[4] = {};
  double weight[4] = {1, 0, 0, 0};
};

/// The taps of one axis at grid coordinate `g` in [-1, 1].
PointTaps MakePointTaps(const GridSampleAttributes& grid, double g, int64_t extent) {
  const auto size = static_cast<double>(extent);
  double x = grid.align_corners ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
  PointTaps taps;
  if (grid.mode == ResizeMode::kNearest) {
    taps.index[0] = PaddedIndex(grid, std::nearbyint(x), extent);
    return taps;
  }
  if (grid.mode == ResizeMode::kLinear && !(x >= 0 && x <= size - 1)) {
    // Padding moves the point itself, so that weights follow the mirrored direction.
    if (grid.padding == Padding::kReflection)
      x = grid.align_corners ? Reflect(x, 0, size - 1) : Reflect(x, -0.5, size - 0.5);
    if (grid.padding != Padding::kZeros) x = std::clamp(x, 0.0, size - 1);
  }
  const double floor = std::floor(x), ratio = x - floor;
  double first = floor;
  if (grid.mode == ResizeMode::kLinear) {
    taps.count = 2;
    taps.weight[0] = 1 - ratio;
    taps.weight[1] = ratio;
  } else {
    taps.count = 4;
    first -= 1;
    CubicWeights(ratio, -0.75, taps.weight);
  }
  for (int t = 0; t < taps.count; ++t) taps.index[t] = PaddedIndex(grid, first + t, extent);
  return taps;
}

double SumTaps(const HostView& x, std::span<const PointTaps> axes, size_t axis, int64_t offset) {
  if (axis == axes.size()) return x.GetDouble(offset);
  double sum = 0;
  for (int t = 0; t < axes[axis].count; ++t) {
    const int64_t index = axes[axis].index[t];
    if (index < 0 || axes[axis].weight[t] == 0) continue;
    sum += axes[axis].weight[t] * SumTaps(x, axes, axis + 1, offset + index * x.strides[axis + 2]);
  }
  return sum;
}

}  // namespace

Status GridSampleReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &grid = context.inputs[1], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const GridSampleAttributes attributes, ReadGridSample(context.node));
  const size_t rank = x.shape.rank() - 2;
  std::vector<int64_t> out(rank + 2), at(rank + 2);
  std::vector<PointTaps> axes(rank);
  for (int64_t i = region.begin; i < region.end; ++i) {
    Unravel(i, y.shape, out);
    at[0] = out[0];
    std::copy(out.begin() + 2, out.end(), at.begin() + 1);
    for (size_t axis = 0; axis < rank; ++axis) {
      at[rank + 1] = static_cast<int64_t>(rank - 1 - axis);  // the grid names the last axis first
      axes[axis] = MakePointTaps(attributes, grid.GetDouble(grid.Offset(at)),
                                 x.shape[static_cast<int>(axis) + 2]);
    }
    const int64_t base = out[0] * x.strides[0] + out[1] * x.strides[1];
    y.SetDouble(y.Offset(out), SumTaps(x, axes, 0, base));
  }
  return OkStatus();
}

Status AffineGridReference(const RefContext& context, const Region& region) {
  const HostView &theta = context.inputs[0], &y = context.outputs[0];
  const bool align = context.attributes().Int("align_corners", 0) != 0;
  const int rank = y.shape.rank() - 2;
  std::vector<int64_t> out(rank + 2);
  for (int64_t i = region.begin; i < region.end; ++i) {
    Unravel(i, y.shape, out);
    int64_t at[] = {out[0], out.back(), rank};
    double sum = theta.GetDouble(theta.Offset(at));
    for (int axis = 0; axis < rank; ++axis) {
      const auto extent = static_cast<double>(y.shape[axis + 1]);
      const auto index = static_cast<double>(out[axis + 1]);
      const double corner = extent > 1 ? 2 * index / (extent - 1) - 1 : 0;
      const double position = align ? corner : (2 * index + 1) / extent - 1;
      at[2] = rank - 1 - axis;
      sum += position * theta.GetDouble(theta.Offset(at));
    }
    y.SetDouble(y.Offset(out), sum);
  }
  return OkStatus();
}

}  // namespace fettle::ops
