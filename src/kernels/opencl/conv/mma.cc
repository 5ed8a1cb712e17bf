// Convolutions as products by matrix instructions (mma.cl).
//   opencl.conv.mma       of f16
//   opencl.conv.mma.tf32  of f32, factors rounded to TF32
#include <algorithm>

#include "kernels/opencl/conv/gathered_tiles.h"

namespace fettle::kernels {
namespace {

/// Input channels that one copy brings.
int64_t ChunkOf(DType storage) { return kChunkBytes / StorageBytes(storage, 1); }

ParamSpace MmaSpace(const Problem& problem, const PixelConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const WarpProduct product = GatheredProduct(conv, ChunkOf(problem.states.outputs[0].storage));
  return {kWarpTileFields.Tunables(), kWarpTileFields.Write(UsualWarpTile(product, facts)),
          [&facts, product](const Params& params) {
            return CheckWarpTile(product, kWarpTileFields.Read(params), facts);
          }};
}

Result<std::unique_ptr<PreparedKernel>> PrepareMma(const Problem& problem, const PixelConv& conv,
                                                   const Params& params, const Device& device) {
  const WarpTile tile = kWarpTileFields.Read(params);
  const State& state = problem.states.outputs[0];
  const OpenClFacts& facts = AsOpenCl(device).facts();
  BuildOptions options = AccessOptions(state);
  DefineWarpTile(tile, facts, options);
  DefineGathered(conv, tile, options);
  const int64_t chunk = ChunkOf(state.storage);
  const WarpProduct product = GatheredProduct(conv, chunk);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, GatheredForm(conv, chunk),
                              {.path = "conv/mma.cl",
                               .function = "conv_mma",
                               .options = std::move(options),
                               .sizes = WarpTileSizes(product, tile)},
                              device));
  made->workspace = product.SharedBytesOf(tile);
  if (made->workspace > 0) made->recorded[0].Workspace(0, kTilePartBytes).Tickets();
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

template <DType storage>
Result<std::vector<StateAssignment>> MmaStates(const ir::Graph& group, const PixelConv& conv,
                                               const Device& device) {
  return BuffersOf(storage, group, conv, device);
}
template <DType storage>
Work MmaWorkOf(const Problem&, const PixelConv& conv, const Params&, const Device&) {
  return MmaConvWork(storage, conv);
}

/// Tiles have 16 rows of pixels, and 16 channels go into one instruction.
template <int kUsual>
int MmaTaste(const PixelConv& conv, const Device&) {
  return conv.ic >= 16 && conv.oc >= 16 && conv.image_pixels() >= 16 ? kUsual : 2;
}

template <DType storage, int kUsualTaste>
constexpr Family<PixelConv> kMmaConvFamily{.read = ReadForMma,
                                           .states = MmaStates<storage>,
                                           .prepare = PrepareMma,
                                           .params = MmaSpace,
                                           .taste = MmaTaste<kUsualTaste>,
                                           .work = MmaWorkOf<storage>};

}  // namespace

extern const KernelDesc kOpenClConvMma;
const KernelDesc kOpenClConvMma = {.name = "opencl.conv.mma",
                                   .match = MatchAs<kMmaConvFamily<DType::kF16, 12>>,
                                   .parameters = ParametersOf<kWarpTileFields>};

extern const KernelDesc kOpenClConvMmaTf32;
const KernelDesc kOpenClConvMmaTf32 = {.name = "opencl.conv.mma.tf32",
                                       .arithmetic = Arithmetic::kTF32,
                                       .match = MatchAs<kMmaConvFamily<DType::kF32, 11>>,
                                       .parameters = ParametersOf<kWarpTileFields>};

}  // namespace fettle::kernels
