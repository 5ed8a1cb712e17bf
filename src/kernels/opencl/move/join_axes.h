// What kernels that move elements do with the pieces of a move.
#pragma once

#include <vector>

#include "kernels/move/copy_axis.h"

namespace fettle::kernels {

/// Pieces of one node; more are no gain over a conversion before it.
inline constexpr size_t kMostPieces = 24;
/// Axes of a piece, joined.
inline constexpr size_t kMostAxes = 8;

/// The axes of a copy by falling stride of the destination, joined where both sides continue.
std::vector<CopyAxis> JoinAxes(std::vector<CopyAxis> axes);

/// Whether steps of outer axes of a destination pass all that inner ones reach, so that an
/// element's indices are the quotients by them.
bool IsNested(const std::vector<CopyAxis>& axes);

}  // namespace fettle::kernels
