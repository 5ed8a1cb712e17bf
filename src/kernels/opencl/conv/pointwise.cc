// opencl.conv.pointwise: 1x1 of every pixel. A work-item computes a tile of pixels and channel
// quads; opencl.conv.pointwise.f16: the same in f16.
#include "kernels/opencl/conv/tiled_conv.h"

namespace fettle::kernels {
namespace {

Result<PixelConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  if (!conv.IsPixelProduct()) return Unsupported("not a 1x1 convolution of every pixel");
  return conv;
}

/// Pixels of all rows in one line.
WorkSizes LineSizes(const PixelConv& conv, const TileShape& tile) {
  WorkSizes sizes = PlaceSizes(DivideUp(conv.image_pixels(), tile.columns),
                               DivideUp(conv.oc, tile.lanes()), conv.batch);
  sizes.lws = GroupOf(tile);
  return sizes;
}

constexpr TiledConv kConv{.path = "conv/pointwise.cl",
                          .function = "conv_pointwise",
                          .read = Read,
                          .sizes = LineSizes,
                          .append = nullptr};

/// Below opencl.conv.local where that is what keeps up.
int Taste(const PixelConv& conv, const Device& device) {
  return BelongsInLocalMemory(conv, device) ? 3 : 10;
}

constexpr auto kFamily = TiledFamily<kConv, Arithmetic::kF32>(Taste);
constexpr auto kHalfFamily = TiledFamily<kConv, Arithmetic::kF16>(Always<11>);

}  // namespace

extern const KernelDesc kOpenClConvPointwise;
const KernelDesc kOpenClConvPointwise = {.name = "opencl.conv.pointwise",
                                         .match = MatchAs<kFamily>,
                                         .parameters = ParametersOf<kTileFields, kWeightsFields>};

extern const KernelDesc kOpenClConvPointwiseF16;
const KernelDesc kOpenClConvPointwiseF16 = {
    .name = "opencl.conv.pointwise.f16",
    .arithmetic = Arithmetic::kF16,
    .match = MatchAs<kHalfFamily>,
    .parameters = ParametersOf<kTileFields, kWeightsFields>};

}  // namespace fettle::kernels
