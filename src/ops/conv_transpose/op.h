// Transposed convolution: attributes, as kernels read them.
#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "ops/window.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// Resolved for one input shape. Weights are [ic, oc/group, k...]. Input element i and tap t add to
/// output element i * stride + t * dilation - pad_begin. `output` holds the spatial extents of the
/// result; elements that no tap reaches hold the bias.
struct ConvTransposeAttributes : Window {
  int64_t group = 1;
  std::vector<int64_t> output;
};

/// auto_pad, output_padding and output_shape are resolved to pads and `output`. Fails with
/// kInvalidModel on sizes that disagree.
Result<ConvTransposeAttributes> ReadConvTranspose(const ir::Node& node, const Shape& input,
                                                  const Shape& weights);

}  // namespace fettle::ops
