// Convolutions without the taps that only meet padding.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Cuts the first and last taps of each Conv that read nothing but zeros of its padding, whatever
/// the output position: 3x3 with dilation 24 over 20x20 is 1x1. Weights are cut where they are
/// constant, quantised ones before they are dequantised, unless more is left than is folded. Needs
/// concrete shapes; elsewhere nothing changes.
Result<bool> CutDeadTaps(ir::Graph& graph);

}  // namespace fettle::passes
