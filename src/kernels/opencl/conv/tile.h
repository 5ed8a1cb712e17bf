// The tile of an output that a work-item of a convolution computes (tile.clh), as parameters.
#pragma once

#include <algorithm>

#include "kernels/opencl/conv/pixel_conv.h"

namespace fettle::kernels {

/// Channel quads of columns, and the work-group.
struct TileShape {
  int64_t quads = 1, columns = 1, group_x = 64, group_y = 1;
  int64_t lanes() const { return 4 * quads; }
};
inline constexpr Fields kTileFields("conv/tile.clh",
                                    Field{"quads", &TileShape::quads, {1, 2, 4}, "QUADS"},
                                    Field{"columns", &TileShape::columns, {1, 2, 4, 8}, "TILE_W"},
                                    Field{"group_x", &TileShape::group_x, kGroupX},
                                    Field{"group_y", &TileShape::group_y, kGroupY});

/// Which input quads the blocks of output channels read: `depth` from First on. A block reads those
/// of all its groups; the weights of others are zero.
struct QuadPlan {
  int64_t blocks = 0, depth = 0, lanes = 4;
  int64_t group_ic = 0, group_oc = 0, in_quads = 0;

  int64_t First(int64_t block) const {
    return std::min(block * lanes / group_oc * group_ic / 4, in_quads - depth);
  }
};

QuadPlan PlanQuads(const PixelConv& conv, const TileShape& tile);

/// Weights in the order [block][input quad][tap][4 input channels][lanes]. `transposed`: they are
/// those of a ConvTranspose, [ic][oc of a group][taps].
FilterForm QuadForm(const PixelConv& conv, const QuadPlan& plan, bool transposed = false);

/// Whether weights lie in an image.
struct WeightsPlace {
  int64_t image = 0;
};
inline constexpr Fields kWeightsFields(
    "conv/weights.clh", Field{"weights_image", &WeightsPlace::image, {0, 1}, "WEIGHTS_IMAGE"});

/// Weights of one group alone in the order [block][tap][input quad][4 input channels][lanes], and
/// the image that they are: a row for each tap of a block.
FilterForm RowForm(const PixelConv& conv, const QuadPlan& plan);
MemoryRequest RowImage(const PixelConv& conv, const QuadPlan& plan, DType storage);

/// A large tile, but where sums are long a smaller one that leaves no unit of the device idle.
TileShape UsualTile(const PixelConv& conv, const Device& device);
/// Quads up to what the output has. The second form is a Family's.
ParamSpace TileSpace(const PixelConv& conv, const Device& device);
ParamSpace TileSpaceOf(const Problem& problem, const PixelConv& conv, const Device& device);
/// And where weights lie: in an image before anything is measured where the family prefers that.
ParamSpace TiledSpace(const Problem& problem, const PixelConv& conv, const Device& device);

/// RecordConv with the weights in an image (RowImage) behind the bias.
Result<std::unique_ptr<RecordedKernel>> RecordInImage(const Problem& problem, const PixelConv& conv,
                                                      const QuadPlan& plan, PixelProgram program,
                                                      const Device& device);

/// A work-item for each tile of an output row, each block of its channels and each image.
WorkSizes TileSizes(const PixelConv& conv, const TileShape& tile);
/// Options of a program that includes access.clh and tile.clh and whose output is in `state`.
BuildOptions TileOptions(const TileShape& tile, const State& state);

}  // namespace fettle::kernels
