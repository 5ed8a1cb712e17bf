// Convolutions at other extents than they were read at.
#pragma once

#include <optional>

#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/epilogue/epilogue.h"

namespace fettle::kernels {

struct ConvAt {
  ConvGeometry g;
  ConvPixels pixels;
};

/// Of node 0 of `group`, whose weights are constant and which differs in extents of images alone
/// from the convolution that was read as `read`, between `pixels` (or a window of the output) and
/// with `epilogue`, which becomes that of these extents. Nothing where more than arithmetic is
/// needed.
std::optional<ConvAt> AtExtents(const ConvGeometry& read, const ConvPixels& pixels,
                                Epilogue& epilogue, const ir::Graph& group);

}  // namespace fettle::kernels
