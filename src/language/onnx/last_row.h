// Logits of one token of a run, where a graph computes those of all.
#pragma once

#include "language/onnx/onnx_form.h"

namespace fettle::language {

/// Where logits are a product of each token's row, and what is done to each element of it, the
/// product gets one row alone: that of the new input form.row [1] i64. Otherwise nothing changes.
/// `graph` as it was imported; `form` is its form.
Status PickLastRow(ir::Graph& graph, OnnxForm& form);

}  // namespace fettle::language
