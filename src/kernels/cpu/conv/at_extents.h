// Convolutions at other extents than those at which they were read.
#pragma once

#include <optional>

#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/epilogue/epilogue.h"

namespace fettle::kernels {

struct ConvAt {
  ConvGeometry g;
  ConvPixels pixels;
};

/// The convolution of node 0 of `group`, between `pixels` (or a window of the output). `group`
/// differs only in extents of images from the one that was read as `read`. Nothing where arithmetic
/// alone cannot make it.
std::optional<ConvAt> AtExtents(const ConvGeometry& read, const ConvPixels& pixels,
                                const ir::Graph& group);
/// The same with `epilogue`, which is changed to these extents; where it walks over rows.
std::optional<ConvAt> AtExtents(const ConvGeometry& read, const ConvPixels& pixels,
                                Epilogue& epilogue, const ir::Graph& group);

}  // namespace fettle::kernels
