// Softmax whose rows of NaN become 0, as exporters guard attention.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Where(IsNaN(s), 0, s) of s = Softmax(x) becomes Softmax {nan_to_zero=1}, if nothing else reads
/// s: what torch.onnx writes for scaled_dot_product_attention, so that queries that see no key get
/// 0.
Result<bool> FindSafeSoftmax(ir::Graph& graph);

}  // namespace fettle::passes
