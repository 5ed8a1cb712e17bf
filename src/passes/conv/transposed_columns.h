// Transposed convolutions of many sums to few places as products and their additions.

#pragma once

#include "passes/conv/read_transposed.h"

namespace fettle::passes {

/// A ConvTranspose becomes a 1x1 Conv to channels x taps and the Col2Im of what that writes, and
/// the Add of its bias, where this takes fewer operations by far: each input pixel meets each tap
/// once, where sums for each output pixel pass over padding (a map that is small beside the kernel,
/// as the first layer of a generator has it) or leave most of a vector of channels empty (many
/// channels to few), or where its weights are computed. Needs f32 and concrete shapes; elsewhere
/// nothing changes.
Result<bool> SpellTransposedColumns(ir::Graph& graph);

/// Whether SpellTransposedColumns takes the ConvTranspose `id`, of which `of` was read.
bool TakesColumns(const Editor& editor, ir::NodeId id, const Transposed& of);

}  // namespace fettle::passes
