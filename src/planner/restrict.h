// Plans that keep to one layout, for comparison, or to a decision.
#pragma once

#include <string_view>

#include "planner/extract.h"

namespace fettle::planner {

/// Leaves each group only the choices that hold all operands that exist in layout `name` ("row",
/// "NCHW", "NHWC", "NCHW8c" ...) in that layout; groups of a node that no such choice computes keep
/// all. Fails with kInvalidArgument where no tensor can have the layout.
Status RestrictToLayout(std::string_view name, const ir::Graph& graph, Extracted& extracted);

/// Leaves the choices of `decision` alone, which is of the catalogue's graph for a session of
/// `threads`; of a group whose kernel is banned, all that it has.
void RestrictToDecision(const Decision& decision, const Catalogue& catalogue, int threads,
                        Extracted& extracted);

}  // namespace fettle::planner
