// Computes the logits of one token of a run, where a graph computes those of all.
#pragma once

#include "language/onnx/onnx_form.h"

namespace fettle::language {

/// Where logits are a product of each token's row, followed by element-wise operators, the product
/// gets a single row: the one of the new input form.row [1] i64. Other graphs do not change.
/// `graph` as it was imported; `form` is its form.
Status PickLastRow(ir::Graph& graph, OnnxForm& form);

}  // namespace fettle::language
