// ExpertMatMul alone, with constant weights.
#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "ops/quantise/expert_product.h"

namespace fettle::kernels {

/// The group's one node and its sizes. Weights, scales and minima are constants, and nothing else
/// is; kUnsupported with the reason otherwise.
struct ExpertGroup {
  ops::ExpertProduct p;
  const ir::Node* node = nullptr;

  ir::ValueId input(ops::ExpertProduct::Input i) const { return node->input(i); }
};
Result<ExpertGroup> ReadExpertGroup(const ir::Graph& group);

}  // namespace fettle::kernels
