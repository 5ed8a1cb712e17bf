// What convolutions by matrix instructions have in common (gathered_tiles.clh).
#pragma once

#include "kernels/opencl/conv/pixel_conv.h"
#include "kernels/opencl/gemm/warp_tile.h"

namespace fettle::kernels {

/// A convolution in one group, on a device that has the instructions.
Result<PixelConv> ReadForMma(const ir::Graph& group, const Device& device);
/// States in which input and output are buffers of `storage`.
Result<std::vector<StateAssignment>> BuffersOf(DType storage, const ir::Graph& group,
                                               const PixelConv& conv, const Device& device);
/// That of instructions for factors stored as f16 or f32.
Work MmaConvWork(DType storage, const PixelConv& conv);

/// Rows of output channels, each tap by tap, of pieces of `chunk` input channels; channels that
/// fill up are zero.
FilterForm GatheredForm(const PixelConv& conv, int64_t chunk);

/// Pixels of an image by output channels.
WarpProduct GatheredProduct(const PixelConv& conv, int64_t chunk);

/// The macros of geometry.clh, and those of gathered_tiles.clh too.
void DefineGeometry(const PixelConv& conv, BuildOptions& options);
void DefineGathered(const PixelConv& conv, const WarpTile& tile, BuildOptions& options);

}  // namespace fettle::kernels
