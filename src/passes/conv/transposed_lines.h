// Transposed convolutions of lines to few channels as convolutions to all phases at once.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A ConvTranspose along one axis to so few channels that each phase of its stride would leave most
/// of a vector empty becomes a Conv to channels x stride outputs, whose phases are then put side by
/// side (the sub-pixel convolution of Shi et al., 2016): what decoders of sound end with. Needs
/// concrete shapes and constant weights; elsewhere nothing changes.
Result<bool> SpellTransposedLines(ir::Graph& graph);

}  // namespace fettle::passes
