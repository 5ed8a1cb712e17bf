// The tile of a convolution by matrix instructions before anything is measured.
#pragma once

#include "kernels/opencl/gemm/warp_tile.h"

namespace fettle::kernels {

/// Of f16. Where units of the device have several tiles each, as in batches, the one of least cost
/// by a fit to times of an H200; elsewhere UsualWarpTile. `reads_sum`: each output is added to a
/// value that is read when the tile is done.
WarpTile UsualConvTile(const WarpProduct& product, bool reads_sum, const OpenClFacts& facts);

}  // namespace fettle::kernels
