// Convolution: attributes, as kernels read them.
#pragma once

#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/window.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// A convolution over any number of spatial axes, resolved for one input shape. Weights are [oc,
/// ic/group, k...].
struct ConvAttributes : Window {
  int64_t group = 1;
};

/// Reads the attributes of a Conv-like node; auto_pad is resolved. Fails with kInvalidModel on
/// sizes that disagree.
Result<ConvAttributes> ReadConv(const ir::Node& node, const Shape& input, const Shape& weights);

/// The extent of spatial axis `i` of the output; below 1 where the kernel does not fit.
int64_t ConvOutputExtent(const ConvAttributes& attributes, int i, int64_t input_extent);

/// A deformable convolution: `offset_groups` groups of input channels share one field of offsets.
struct DeformConvAttributes : ConvAttributes {
  int64_t offset_groups = 1;
};
Result<DeformConvAttributes> ReadDeformConv(const ir::Node& node, const Shape& input,
                                            const Shape& weights);

}  // namespace fettle::ops
