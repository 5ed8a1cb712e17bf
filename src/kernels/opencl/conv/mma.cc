// Convolutions as products by matrix instructions (mma.cl).
//   opencl.conv.mma       of f16
//   opencl.conv.mma.tf32  of f32, factors rounded to TF32
//   opencl.conv.mma.f32   of f32, each in two parts of TF32
#include <algorithm>

#include "kernels/opencl/conv/gathered_tiles.h"
#include "kernels/opencl/conv/usual_tile.h"

namespace fettle::kernels {
namespace {

template <MmaFactors kFactors>
WarpProduct ProductOf(const PixelConv& conv) {
  return GatheredProduct(conv, ChunkOf(kFactors), PartsOf(kFactors));
}

/// The narrowest tile, which cuts all blocks, as high as leaves few units idle.
WarpTile UsualBlockTile(const WarpProduct& product, const OpenClFacts& facts) {
  WarpTile tile;
  if (facts.is_cpu) return tile;
  tile.stages = 3;
  for (const int64_t bm : {128, 64}) {
    WarpTile high = tile;
    high.bm = bm;
    high.wm = high.wn = 32;
    if (product.TilesOf(high) >= facts.compute_units && CheckWarpTile(product, high, facts).ok())
      return high;
  }
  return tile;
}

template <MmaFactors kFactors>
ParamSpace MmaSpace(const Problem& problem, const PixelConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const WarpProduct product = ProductOf<kFactors>(conv);
  const bool reads_sum = problem.group->inputs.size() > 1;
  const int64_t block = conv.groups == 1 ? 0 : KnownBlocksOf(conv, ChunkOf(kFactors)).outputs;
  const WarpTile usual = block > 0 ? UsualBlockTile(product, facts)
                         : kFactors == MmaFactors::kHalves
                             ? UsualConvTile(product, reads_sum, facts)
                             : UsualWarpTile(product, facts);
  return {kWarpTileFields.Tunables(), kWarpTileFields.Write(usual),
          [&facts, product, block](const Params& params) {
            const WarpTile tile = kWarpTileFields.Read(params);
            if (block % tile.bn != 0)
              return InvalidArgument("BN: expected one that cuts blocks of {} channels, got {}",
                                     block, tile.bn);
            return CheckWarpTile(product, tile, facts);
          }};
}

template <MmaFactors kFactors>
Result<std::unique_ptr<PreparedKernel>> PrepareMma(const Problem& problem, const PixelConv& conv,
                                                   const Params& params, const Device& device) {
  const WarpTile tile = kWarpTileFields.Read(params);
  const OpenClFacts& facts = AsOpenCl(device).facts();
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  DefineWarpTile(tile, facts, options);
  if (PartsOf(kFactors) > 1) options.Define("PARTS", PartsOf(kFactors));
  DefineGathered(conv, tile, ChunkOf(kFactors), true, options);
  const WarpProduct product = ProductOf<kFactors>(conv);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, GatheredForm(conv, ChunkOf(kFactors)),
                              {.path = "conv/mma.cl",
                               .function = "conv_mma",
                               .options = std::move(options),
                               .sizes = WarpTileSizes(product, tile)},
                              device));
  made->workspace = product.SharedBytesOf(tile);
  if (made->workspace > 0) made->recorded[0].Workspace(0, kTilePartBytes).Tickets();
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

/// Blocks of groups are mostly zero, and faster all the same where there are such instructions:
/// ResNeXt-50 at fp16 on an H100 takes 0.26 ms by them and 0.73 without.
template <int kUsual>
int MmaTaste(const PixelConv& conv, const Device& device) {
  if (conv.groups > 1) return AsOpenCl(device).facts().mma.emulated ? kOnlyMeasured : kUsual;
  return FillsMmaTiles(conv) ? kUsual : 2;
}

template <MmaFactors kFactors, int kUsualTaste>
constexpr Family<PixelConv> kMmaConvFamily{.read = ReadGroupedForMma,
                                           .states = MmaStates<kFactors>,
                                           .prepare = PrepareMma<kFactors>,
                                           .params = MmaSpace<kFactors>,
                                           .taste = MmaTaste<kUsualTaste>,
                                           .work = MmaWorkOf<kFactors>};

template <MmaFactors kFactors, int kUsualTaste>
constexpr KernelDesc MmaConv(std::string_view name) {
  return {.name = name,
          .arithmetic = ArithmeticOf(kFactors),
          .match = MatchAs<kMmaConvFamily<kFactors, kUsualTaste>>,
          .parameters = ParametersOf<kWarpTileFields>};
}

}  // namespace

extern const KernelDesc kOpenClConvMma, kOpenClConvMmaTf32, kOpenClConvMmaF32;
const KernelDesc kOpenClConvMma = MmaConv<MmaFactors::kHalves, 12>("opencl.conv.mma");
const KernelDesc kOpenClConvMmaTf32 = MmaConv<MmaFactors::kTf32, 11>("opencl.conv.mma.tf32");
const KernelDesc kOpenClConvMmaF32 = MmaConv<MmaFactors::kFloats, 10>("opencl.conv.mma.f32");

}  // namespace fettle::kernels
