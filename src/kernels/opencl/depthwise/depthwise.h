// What convolutions with one filter per channel share, of floats and of bytes.
#pragma once

#include <vector>

#include "kernels/opencl/conv/pixel_conv.h"

namespace fettle::kernels {

/// Weights in the order [quad][tap][4].
FilterForm DepthwiseForm(const PixelConv& conv);

/// Columns of a work-item, and the work-group.
struct DepthwiseTile {
  int64_t columns = 1, group_x = 64, group_y = 1;
};
inline constexpr Fields kDepthwiseFields(
    "conv/tile.clh", Field{"columns", &DepthwiseTile::columns, {1, 2, 4, 8}, "TILE_W"},
    Field{"group_x", &DepthwiseTile::group_x, kGroupX},
    Field{"group_y", &DepthwiseTile::group_y, kGroupY});
ParamSpace DepthwiseSpace(const PixelConv& conv, const Device& device);

}  // namespace fettle::kernels
