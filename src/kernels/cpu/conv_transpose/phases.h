// A transposed convolution as one ordinary convolution per phase: output positions that are equal
// modulo the stride meet the same taps.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::kernels {

/// Brought to three spatial axes; see ConvGeometry.
struct TransposeGeometry {
  int64_t batch = 1, ic = 0, oc = 0, groups = 1;
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

/// Reads a ConvTranspose node with concrete shapes; kUnsupported over three spatial axes.
Result<TransposeGeometry> ReadTransposeGeometry(const ir::Graph& group, const ir::Node& node);

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
std::vector<AxisPhase> AxisPhases(const TransposeGeometry& geometry, size_t axis);

}  // namespace fettle::kernels
