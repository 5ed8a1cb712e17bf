// Transposed convolutions as a product and the addition of its results.

#pragma once

#include "passes/conv/read_transposed.h"

namespace fettle::passes {

/// Turns a ConvTranspose into a 1x1 Conv to channels x taps, a Col2Im of its result and the Add of
/// the bias, where its weights are computed, or where this takes far fewer operations: each input
/// pixel meets each tap once, whereas sums for each output pixel pass over padding (a map that is
/// small beside the kernel, as in the first layer of a generator) or leave most of a vector of
/// channels empty (many channels to few). Needs f32 and concrete shapes; elsewhere nothing changes.
Result<bool> SpellTransposedColumns(ir::Graph& graph);

/// Whether SpellTransposedColumns takes the ConvTranspose `id`, whose facts are `of`.
bool TakesColumns(const Editor& editor, ir::NodeId id, const Transposed& of);

}  // namespace fettle::passes
