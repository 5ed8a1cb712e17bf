// Two strided copies, one after the other, as one.
#pragma once

#include <optional>

#include "kernels/move/move_plan.h"

namespace fettle::kernels {

/// What `later` copies of a tensor that `earlier` has written, from where that took it: the source
/// is `earlier`'s, the output `later`'s. `earlier` writes all of the tensor, densely. nullopt where
/// no single strided copy does that. O(axes^2).
std::optional<Piece> Compose(const Piece& earlier, const Piece& later);

}  // namespace fettle::kernels
