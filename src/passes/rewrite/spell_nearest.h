// Resizing of numbers that no kernel blends.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Resize to nearest neighbours of integers of more than a byte, bool and f64 (maps of labels)
/// becomes a Gather for each axis that it changes: kernels that blend are those of floats and
/// bytes. Needs concrete shapes and constant scales or sizes, and no extrapolation.
Result<bool> SpellNearest(ir::Graph& graph);

}  // namespace fettle::passes
