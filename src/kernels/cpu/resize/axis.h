// Axes of a resize: which elements of the input each of the output is made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/resize/op.h"

namespace fettle::kernels {

struct ResizeAxis {
  int64_t in = 1, out = 1;
  ops::AxisTaps taps;
};

/// Every output is one input element: nothing is blended.
bool PicksElements(const ops::AxisTaps& taps);
/// Each element is there twice.
bool Doubles(const ResizeAxis& axis);
/// Output `i` is made of what the one before it is.
bool IsAsBefore(const ops::AxisTaps& taps, int64_t i);
/// Whether pictures are spread as one row each: to begin a row takes longer than some of them do.
/// Those that are doubled take no tables.
bool AreSmall(const ResizeAxis& height, const ResizeAxis& width);
/// An axis that is not resized.
ResizeAxis KeptAxis(int64_t extent);
/// An axis that is resized by repeating each element.
ops::AxisTaps RepeatedTaps(int64_t extent, int64_t times);
/// By axis, from `x` to `y`: elements follow themselves `repeats` times, or where that is empty are
/// blended as `resize` says. Empty where the extents tell otherwise, or nothing does.
std::vector<ops::AxisTaps> TapsOfAxes(const Shape& x, const Shape& y,
                                      std::span<const int64_t> repeats,
                                      const ops::ResizeAttributes* resize);
/// Two neighbours in memory as one axis: a tap of it is one of each.
ResizeAxis JoinedAxes(const ResizeAxis& slow, const ResizeAxis& fast);

}  // namespace fettle::kernels
