// Transposed convolutions along one axis to few channels, as convolutions to all phases at once.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Turns a ConvTranspose along one axis, to so few channels that each phase of its stride would
/// leave most of a vector empty, into a Conv to channels x stride outputs, whose phases are then
/// put side by side (the sub-pixel convolution of Shi et al., 2016). Decoders of sound end in such
/// layers. Needs concrete shapes and constant weights; elsewhere nothing changes.
Result<bool> SpellTransposedLines(ir::Graph& graph);

}  // namespace fettle::passes
