// Softmax, LogSoftmax, Hardmax: which axes a row spans, and rows without numbers.
#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "ops/walk.h"

namespace fettle::ops {

/// The axes that one distribution spans: `axis` alone, or, with flatten_2d (opset 12 and before),
/// `axis` and all behind it. Fails with kInvalidModel if the axis is out of range.
Result<AxisMask> SoftmaxAxes(const ir::Node& node, int rank);

/// Whether a row that would be NaN, for it holds NaN or nothing but -infinity, is 0 instead: the
/// attribute nan_to_zero of Softmax, which ONNX does not have (passes/find/safe_softmax.h).
bool NanToZero(const ir::Node& softmax);

}  // namespace fettle::ops
