// Scales of quantised values that are not sizes of steps.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace fettle::onnx {

/// A line for a graph with QuantizeLinear or DequantizeLinear by constant scales that are zero,
/// negative, infinite or NaN, which names the first; nothing for others.
std::vector<std::string> UnusualScales(const ir::Graph& graph);

}  // namespace fettle::onnx
