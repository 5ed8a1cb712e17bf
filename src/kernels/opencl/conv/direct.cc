// opencl.conv.direct: any window, stride, dilation, padding and groups. A work-item computes a tile
// of columns and channel quads; opencl.conv.direct.f16: the same in f16.
#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

Result<PixelConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  if (conv.IsPixelProduct()) return Unsupported("left to opencl.conv.pointwise");
  if (conv.IsDepthwise() && conv.oc == conv.ic) return Unsupported("left to opencl.conv.depthwise");
  return conv;
}

template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  const TileShape tile = kTileFields.Read(params);
  const QuadPlan plan = PlanQuads(conv, tile);
  BuildOptions options = TileOptions(tile, problem.states.outputs[0]);
  DefineArithmetic(arithmetic, device, options);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, QuadForm(conv, plan),
                              {.path = "conv/direct.cl",
                               .function = "conv_direct",
                               .options = options,
                               .sizes = TileSizes(conv, tile)},
                              device));
  made->recorded[0].Value(WindowArg(conv)).Value(BordersArg(conv)).Int(plan.depth);
  made->recorded[0].Value(Int2(plan.group_ic, plan.group_oc));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

/// Below opencl.conv.local where that is what keeps up.
int Taste(const PixelConv& conv, const Device& device) {
  return BelongsInLocalMemory(conv, device) ? 3 : 5;
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

extern const KernelDesc kOpenClConvDirect;
const KernelDesc kOpenClConvDirect = {.name = "opencl.conv.direct",
                                      .device = DeviceKind::kOpenCl,
                                      .match = MatchAs<kFamily>,
                                      .parameters = ParametersOf<kTileFields>};

extern const KernelDesc kOpenClConvDirectF16;
const KernelDesc kOpenClConvDirectF16 = {.name = "opencl.conv.direct.f16",
                                         .device = DeviceKind::kOpenCl,
                                         .arithmetic = Arithmetic::kF16,
                                         .preference = 6,
                                         .match = MatchAs<kHalfFamily>,
                                         .parameters = ParametersOf<kTileFields>};

}  // namespace fettle::kernels
