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

/// Of node 0 of `group`, which differs in extents of images alone from the convolution that was
/// read as `read`, between `pixels` (or a window of the output). Nothing where more than arithmetic
/// is needed.
std::optional<ConvAt> AtExtents(const ConvGeometry& read, const ConvPixels& pixels,
                                const ir::Graph& group);
/// The same with `epilogue`, which becomes that of these extents; where it walks over rows.
std::optional<ConvAt> AtExtents(const ConvGeometry& read, const ConvPixels& pixels,
                                Epilogue& epilogue, const ir::Graph& group);

}  // namespace fettle::kernels
