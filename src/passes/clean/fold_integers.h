// Computing one node of few whole numbers again, without tensors.
#pragma once

#include "ir/graph.h"

namespace fettle::passes {

/// What FoldData does, in a tenth of the time, for a node of `graph` that it folded before, when
/// its inputs, constants of int64 or bool, held other elements: arithmetic, comparisons, Range,
/// Where and what moves elements, which exporters compute shapes and masks with. Says no, and
/// changes nothing, where FoldData has to be asked. An output that would hold the same elements
/// stays the constant that it is.
bool FoldIntegers(ir::Graph& graph, const ir::Node& node);

}  // namespace fettle::passes
