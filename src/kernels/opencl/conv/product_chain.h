// A 1x1 convolution behind something else in the same launch: its operands, and the bounds that lie
// between.
#pragma once

#include <limits>

#include "kernels/opencl/conv/pixel_conv.h"

namespace fettle::kernels {

/// What Relu and Clip leave of a value: min(max(x, low), high).
struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

/// Takes what `node` makes of bounds; kUnsupported where it is no Relu and no Clip by constants.
Status Clamp(const ir::Graph& group, const ir::Node& node, Bounds& bounds);

/// A 1x1 convolution of every pixel with constant weights, anywhere in `group`; otherwise
/// kUnsupported with the reason.
Result<PixelConv> ReadProduct(const ir::Graph& group, const ir::Node& node);

/// Weights in the order [input channel, rounded up to 4][`oc` output channels].
FilterForm ProductForm(const PixelConv& product, int64_t oc);

/// Whether the device is a GPU that is through with a short kernel before the host has enqueued the
/// next.
bool HostLagsBehind(const Device& device);

}  // namespace fettle::kernels
