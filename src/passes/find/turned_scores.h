// Attention over channels that lie before tokens, as detectors write it.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Values times turned scores, MatMul(V, Transpose(Softmax(x))), become the transpose of
/// MatMul(Softmax(x), Transpose(V)): scores have more elements than values, and are the form in
/// which kernels of attention take them. Needs concrete shapes and a softmax of the last axis that
/// nobody else reads; elsewhere nothing changes.
Result<bool> FindTurnedScores(ir::Graph& graph);

}  // namespace fettle::passes
