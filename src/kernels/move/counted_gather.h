// Gathers whose indices count, as strided copies.
#pragma once

#include "kernels/move/move_plan.h"

namespace fettle::kernels {

/// A Gather by constant indices that rise or fall by one step along each of their axes: windows,
/// which may overlap, as exporters spell unfolding. Of row-major tensors; the data are operand 0.
/// Fails with kUnsupported and the reason for other indices. O(indices).
Result<Piece> CountedGather(const ir::Graph& group, const ir::Node& node);

}  // namespace fettle::kernels
