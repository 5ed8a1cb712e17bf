// Quantised constants that no integer kernel reads as integers.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Dequantises constants ahead for the element-wise and normalising operators that read them
/// (scales of BatchNormalization, a factor, a bias), and folds those that are quantised again.
/// Weights of products and what is moved stay bytes. True if anything changed.
Result<bool> DequantiseConstants(ir::Graph& graph);

}  // namespace fettle::passes
