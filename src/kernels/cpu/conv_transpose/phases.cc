#include "kernels/cpu/conv_transpose/phases.h"

#include <algorithm>

namespace fettle::kernels {

std::vector<AxisPhase> AxisPhases(const ConvGeometry& g, size_t axis) {
  const int64_t stride = g.stride[axis];
  std::vector<AxisPhase> phases(stride);
  for (int64_t p = 0; p < stride; ++p) {
    AxisPhase& phase = phases[p];
    phase.positions = std::max<int64_t>(0, (g.out[axis] - p + stride - 1) / stride);
    for (int64_t k = 0; k < g.kernel[axis]; ++k) {
      const int64_t at = p + g.pad[axis] - k * g.dilation[axis];
      if (at % stride == 0) phase.taps.push_back({k, at / stride});
    }
  }
  return phases;
}

}  // namespace fettle::kernels
