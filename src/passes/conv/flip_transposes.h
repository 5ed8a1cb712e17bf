// Transposed convolutions of stride one as convolutions.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A ConvTranspose of stride 1 becomes the Conv of its weights, flipped along the spatial axes and
/// with inputs and outputs of each group exchanged, whose pads are what the kernel spans less the
/// pads. Needs concrete shapes, and pads that are no larger than that; elsewhere, and where
/// SpellTransposedColumns takes one of constant weights, nothing changes.
Result<bool> FlipTransposes(ir::Graph& graph);

}  // namespace fettle::passes
