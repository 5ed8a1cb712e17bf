// Transposed convolutions as convolutions: those of stride one, and those of many sums to few
// places.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// A ConvTranspose of stride 1 becomes the Conv of its weights, flipped along the spatial axes and
/// with inputs and outputs of each group exchanged, whose pads are what the kernel spans less the
/// pads. Needs constant weights and concrete shapes, and pads that are no larger than that;
/// elsewhere, and where SpellTransposedColumns takes it, nothing changes.
Result<bool> FlipTransposes(ir::Graph& graph);

/// A ConvTranspose becomes a 1x1 Conv to channels x taps and the Col2Im of what that writes, and
/// the Add of its bias, where this takes fewer operations by far: each input pixel meets each tap
/// once, where sums for each output pixel pass over padding (a map that is small beside the kernel,
/// as the first layer of a generator has it) or leave most of a vector of channels empty (many
/// channels to few). Needs constant weights of f32 and concrete shapes; elsewhere nothing changes.
Result<bool> SpellTransposedColumns(ir::Graph& graph);

}  // namespace fettle::passes
