// opencl.conv.pointwise: 1x1 of every pixel. A work-item computes a tile of pixels and channel
// quads; opencl.conv.pointwise.f16: the same in f16.
#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

Result<PixelConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  if (!conv.IsPixelProduct()) return Unsupported("not a 1x1 convolution of every pixel");
  return conv;
}

template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  const TileShape tile = kTileFields.Read(params);
  const QuadPlan plan = PlanQuads(conv, tile);
  BuildOptions options = TileOptions(tile, problem.states.outputs[0]);
  DefineArithmetic(arithmetic, device, options);
  WorkSizes sizes =
      PlaceSizes(DivideUp(conv.image_pixels(), tile.columns), plan.blocks, conv.batch);
  sizes.lws = GroupOf(tile);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, QuadForm(conv, plan),
                              {.path = "conv/pointwise.cl",
                               .function = "conv_pointwise",
                               .options = options,
                               .sizes = sizes},
                              device));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

/// Below opencl.conv.local where that is what keeps up.
int Taste(const PixelConv& conv, const Device& device) {
  return BelongsInLocalMemory(conv, device) ? 3 : 10;
}

constexpr Family<PixelConv> kFamily{.read = Read,
                                    .states = PixelConvStates,
                                    .prepare = Prepare<Arithmetic::kF32>,
                                    .params = TileSpaceOf,
                                    .taste = Taste};
constexpr Family<PixelConv> kHalfFamily{.read = Read,
                                        .states = HalfConvStates,
                                        .prepare = Prepare<Arithmetic::kF16>,
                                        .params = TileSpaceOf};

}  // namespace

extern const KernelDesc kOpenClConvPointwise;
const KernelDesc kOpenClConvPointwise = {.name = "opencl.conv.pointwise",
                                         .device = DeviceKind::kOpenCl,
                                         .match = MatchAs<kFamily>,
                                         .parameters = ParametersOf<kTileFields>};

extern const KernelDesc kOpenClConvPointwiseF16;
const KernelDesc kOpenClConvPointwiseF16 = {.name = "opencl.conv.pointwise.f16",
                                            .device = DeviceKind::kOpenCl,
                                            .arithmetic = Arithmetic::kF16,
                                            .preference = 11,
                                            .match = MatchAs<kHalfFamily>,
                                            .parameters = ParametersOf<kTileFields>};

}  // namespace fettle::kernels
