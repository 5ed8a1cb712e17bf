// opencl.conv.direct: any window, stride, dilation, padding and groups. A work-item computes a tile
// of columns and channel quads; opencl.conv.direct.f16: the same in f16.
#include "kernels/opencl/conv/tiled_conv.h"

namespace fettle::kernels {
namespace {

Result<PixelConv> Read(const ir::Graph& group, const Device&) { return ReadPixelConv(group); }

void AppendWindow(const PixelConv& conv, const QuadPlan& plan, RecordedLaunch& launch) {
  launch.Value(WindowArg(conv)).Value(BordersArg(conv)).Int(plan.depth);
  launch.Value(Int2(plan.group_ic, plan.group_oc));
}

constexpr TiledConv kConv{.path = "conv/direct.cl",
                          .function = "conv_direct",
                          .read = Read,
                          .sizes = TileSizes,
                          .append = AppendWindow};

/// Below kernels that know more of the window, and below opencl.conv.local where that is what keeps
/// up.
template <int kUsual, int kBehindLocal>
int Taste(const PixelConv& conv, const Device& device) {
  if (conv.IsPixelProduct() || (conv.IsDepthwise() && conv.oc == conv.ic)) return 1;
  return BelongsInLocalMemory(conv, device) ? kBehindLocal : kUsual;
}

constexpr auto kFamily = TiledFamily<kConv, Arithmetic::kF32>(Taste<5, 3>);
constexpr auto kHalfFamily = TiledFamily<kConv, Arithmetic::kF16>(Taste<6, 6>);

}  // namespace

extern const KernelDesc kOpenClConvDirect;
const KernelDesc kOpenClConvDirect = {.name = "opencl.conv.direct",
                                      .match = MatchAs<kFamily>,
                                      .parameters = ParametersOf<kTileFields, kWeightsFields>};

extern const KernelDesc kOpenClConvDirectF16;
const KernelDesc kOpenClConvDirectF16 = {.name = "opencl.conv.direct.f16",
                                         .arithmetic = Arithmetic::kF16,
                                         .match = MatchAs<kHalfFamily>,
                                         .parameters = ParametersOf<kTileFields, kWeightsFields>};

}  // namespace fettle::kernels
