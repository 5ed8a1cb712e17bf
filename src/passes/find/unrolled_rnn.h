// Recurrent layers whose steps a model writes out one by one.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A chain of h[t] = Tanh(h[t - 1] * R + b + s[t]) over all steps of s = X * W + c, up or down,
/// becomes an RNN (torch.onnx.export writes nn.RNN like this). Its states may have only one reader,
/// a Concat that joins them in the order of X; the last state may have others.
Result<bool> FindUnrolledRnn(ir::Graph& graph);

}  // namespace fettle::passes
