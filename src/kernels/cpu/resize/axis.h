// Axes of a resize: which elements of the input each of the output is made of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/resize/op.h"

namespace fettle::kernels {

struct ResizeAxis {
  int64_t in = 1, out = 1;
  ops::AxisTaps taps;
};

/// Every output is one input element: nothing is blended.
bool PicksElements(const ops::AxisTaps& taps);
/// An axis that is not resized.
ResizeAxis KeptAxis(int64_t extent);
/// An axis that is resized by repeating each element.
ops::AxisTaps RepeatedTaps(int64_t extent, int64_t times);
/// Two neighbours in memory as one axis: a tap of it is one of each.
ResizeAxis JoinedAxes(const ResizeAxis& slow, const ResizeAxis& fast);

}  // namespace fettle::kernels
