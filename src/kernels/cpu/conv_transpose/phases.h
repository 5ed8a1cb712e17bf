// A transposed convolution as one ordinary convolution per phase: output positions that are equal
// modulo the stride meet the same taps.
#pragma once

#include <vector>

#include "kernels/match/conv.h"

namespace fettle::kernels {

/// One axis, one phase: output position phase + stride * j reads input position j + offset for each
/// tap.
struct AxisPhase {
  struct Tap {
    int64_t kernel;
    int64_t offset;
  };
  std::vector<Tap> taps;
  int64_t positions = 0;  // outputs of this phase
};
std::vector<AxisPhase> AxisPhases(const ConvGeometry& geometry, size_t axis);

}  // namespace fettle::kernels
