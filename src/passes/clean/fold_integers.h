// Computes a node of few integers again, without tensors.
#pragma once

#include "ir/graph.h"

namespace fettle::passes {

/// Does what FoldData does, in a tenth of the time, for a node of `graph` that FoldData folded
/// before, when its inputs, constants of int64 or bool, held other elements: arithmetic,
/// comparisons, Range, Where and operators that move elements, with which exporters compute shapes
/// and masks. False, with nothing changed, where FoldData has to do it. An output whose elements
/// stay the same keeps its constant.
bool FoldIntegers(ir::Graph& graph, const ir::Node& node);

}  // namespace fettle::passes
