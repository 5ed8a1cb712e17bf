#include "kernels/cpu/conv_transpose/phases.h"

#include <algorithm>

#include "ops/conv_transpose/op.h"

namespace fettle::kernels {

Result<TransposeGeometry> ReadTransposeGeometry(const ir::Graph& group, const ir::Node& node) {
  const Shape& x = *group.value(node.input(0)).shape;
  const Shape& w = *group.value(node.input(1)).shape;
  ASSIGN_OR_RETURN(const ops::ConvTransposeAttributes conv, ops::ReadConvTranspose(node, x, w));
  if (conv.spatial_rank() > 3) return Unsupported("more than three spatial axes");
  TransposeGeometry g;
  g.batch = x[0];
  g.ic = x[1];
  g.oc = w[1] * conv.group;
  g.groups = conv.group;
  const auto first = static_cast<size_t>(3 - conv.spatial_rank());
  for (size_t i = 0; i < conv.kernel.size(); ++i) {
    g.in[first + i] = x[static_cast<int>(i) + 2];
    g.out[first + i] = conv.output[i];
    g.kernel[first + i] = conv.kernel[i];
    g.stride[first + i] = conv.strides[i];
    g.dilation[first + i] = conv.dilations[i];
    g.pad[first + i] = conv.pad_begin[i];
  }
  return g;
}

std::vector<AxisPhase> AxisPhases(const TransposeGeometry& g, size_t axis) {
  const int64_t stride = g.stride[axis];
  std::vector<AxisPhase> phases(static_cast<size_t>(stride));
  for (int64_t p = 0; p < stride; ++p) {
    AxisPhase& phase = phases[static_cast<size_t>(p)];
    phase.positions = std::max<int64_t>(0, (g.out[axis] - p + stride - 1) / stride);
    for (int64_t k = 0; k < g.kernel[axis]; ++k) {
      const int64_t at = p + g.pad[axis] - k * g.dilation[axis];
      if (at % stride == 0) phase.taps.push_back({k, at / stride});
    }
  }
  return phases;
}

}  // namespace fettle::kernels
