// Transposed convolutions of stride one as convolutions.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Turns a ConvTranspose of stride 1 into a Conv. Its weights are flipped along the spatial axes,
/// with inputs and outputs of each group exchanged; each of its pads is the kernel's span less the
/// old pad. Needs concrete shapes and pads of at most the kernel's span. Other nodes, and those of
/// constant weights that SpellTransposedColumns takes, do not change.
Result<bool> FlipTransposes(ir::Graph& graph);

}  // namespace fettle::passes
