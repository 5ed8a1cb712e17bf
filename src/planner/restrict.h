// Plans that keep to one layout or to a decision, for comparison.
#pragma once

#include <string_view>

#include "planner/extract.h"

namespace fettle::planner {

/// Leaves each group only the choices that hold all their tensors in layout `name` ("row", "NCHW",
/// "NHWC", "NCHW8c" ...). A layout counts only for tensors that can have it. Groups of a node that
/// no such choice computes keep all choices. kInvalidArgument where no tensor can have the layout.
Status RestrictToLayout(std::string_view name, const ir::Graph& graph, Extracted& extracted);

/// Leaves only the choices of `decision`, which was made for the catalogue's graph and a session of
/// `threads`. A group whose chosen kernel is banned keeps all its choices.
void RestrictToDecision(const Decision& decision, const Catalogue& catalogue, int threads,
                        Extracted& extracted);

}  // namespace fettle::planner
