// Softmax, LogSoftmax, Hardmax: which axes a row spans.
#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "ops/walk.h"

namespace fettle::ops {

/// The axes that one distribution spans: `axis` alone, or, with flatten_2d (opset 12 and before),
/// `axis` and all behind it. Fails with kInvalidModel if the axis is out of range.
Result<AxisMask> SoftmaxAxes(const ir::Node& node, int rank);

}  // namespace fettle::ops
