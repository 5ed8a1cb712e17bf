// What convolutions by matrix instructions have in common (gathered_tiles.clh).
#pragma once

#include "kernels/opencl/conv/pixel_conv.h"
#include "kernels/opencl/gemm/warp_tile.h"

namespace fettle::kernels {

/// Rows of output channels, each tap by tap, of pieces of `chunk` input channels; channels that
/// fill up are zero.
FilterForm GatheredForm(const PixelConv& conv, int64_t chunk);

/// Pixels of an image by output channels.
WarpProduct GatheredProduct(const PixelConv& conv, int64_t chunk);

/// The macros of the geometry.
void DefineGathered(const PixelConv& conv, const WarpTile& tile, BuildOptions& options);

}  // namespace fettle::kernels
