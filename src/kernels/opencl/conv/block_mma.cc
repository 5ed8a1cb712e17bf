// Convolutions of many input channels by matrix instructions, of a window in local memory a block
// of channels at a time (block_mma.cl), of volumes plane by plane.
//   opencl.conv.mma.blocks      of f16
//   opencl.conv.mma.blocks.f32  of f32, each in two parts of TF32
#include <algorithm>
#include <limits>
#include <span>

#include "kernels/opencl/conv/gathered_tiles.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// rows x columns output pixels and bn channels of a work-group, bk pairs of bytes of each pixel at
/// a time; the rest as in WarpTile.
struct BlockTile {
  int64_t rows = 4, columns = 8, bn = 32, bk = 32, wm = 16, wn = 16, wk = 1, stages = 2, split = 1;
  int64_t pixels() const { return DivideUp(rows * columns, wm) * wm; }
  WarpTile warps() const {
    return {.bm = pixels(),
            .bn = bn,
            .bk = bk,
            .wm = wm,
            .wn = wn,
            .wk = wk,
            .stages = stages,
            .split = split};
  }
};
constexpr Fields kBlockFields(
    "conv/block_mma.cl", Field{"TILE_H", &BlockTile::rows, {2, 4, 7, 8, 14, 16}, "TILE_H"},
    Field{"TILE_W", &BlockTile::columns, {7, 8, 14, 16, 28, 32}, "TILE_W"},
    Field{"BN", &BlockTile::bn, {32, 64, 128}, "BN"},
    Field{"BK", &BlockTile::bk, {32, 64, 128}, "BK"},
    Field{"WM", &BlockTile::wm, {16, 32, 64}, "WM"},
    Field{"WN", &BlockTile::wn, {16, 32, 64}, "WN"}, Field{"WK", &BlockTile::wk, {1, 2, 4}, "WK"},
    Field{"STAGES", &BlockTile::stages, {2, 3, 4, 6}, "STAGES"},
    Field{"SPLIT", &BlockTile::split, {1, 2, 3, 4, 6, 8, 16}, "SPLIT"});

/// A convolution, and what of it blocks are made of.
struct BlockConv : PixelConv {
  MmaFactors factors = MmaFactors::kHalves;
  int64_t ChannelsOf(const BlockTile& tile) const {
    return tile.bk * 2 / StorageBytes(StorageOf(factors), 1);
  }
  int64_t BlocksOf(const BlockTile& tile) const {
    return kernel[0] * DivideUp(ic, ChannelsOf(tile));
  }
  int64_t plane_taps() const { return kernel[1] * kernel[2]; }
  int64_t TilesOf(const BlockTile& tile) const {
    return DivideUp(out[1], tile.rows) * DivideUp(out[2], tile.columns) * DivideUp(oc, tile.bn) *
           batch * out[0];
  }
  int64_t WindowOf(const BlockTile& tile) const {
    const auto extent = [this](int axis, int64_t outputs) {
      return (outputs - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1;
    };
    return extent(1, tile.rows) * extent(2, tile.columns);
  }
  int64_t SharedBytesOf(const BlockTile& tile) const {
    return tile.split == 1 ? 0 : TilesOf(tile) * tile.split * tile.pixels() * tile.bn * 4;
  }
};

/// As LOCAL_BYTES of block_mma.cl, and a bias.
int64_t BlockBytes(const BlockConv& conv, const BlockTile& tile) {
  const int64_t places = DivideUp(conv.BlocksOf(tile), tile.split) > 1 ? 2 : 1;
  const int64_t windows = places * conv.WindowOf(tile) * (tile.bk / 8 | 1) * 16;
  WarpTile sums = tile.warps();
  sums.stages = 0;
  return std::max(tile.stages * tile.bn * tile.bk * 2 + windows + tile.bn * 4, sums.bytes());
}

/// Copies of a part of a window that a work-item makes: what it knows of them is bits of a word.
Status CheckCopies(const BlockConv& conv, const BlockTile& tile) {
  constexpr int64_t kMostCopies = 24;
  const int64_t parts = conv.plane_taps() - tile.stages + 2;
  if (parts < 2)
    return InvalidArgument("STAGES: expected at most {}, got {}", conv.plane_taps(), tile.stages);
  const int64_t quads = conv.ChannelsOf(tile) / 4;
  const int64_t copies =
      DivideUp(conv.WindowOf(tile) * DivideUp(quads, parts), tile.warps().items());
  if (copies <= kMostCopies) return OkStatus();
  return InvalidArgument("TILE_H, TILE_W: {} work-items have too much to copy",
                         tile.warps().items());
}

Status CheckBlocks(const BlockConv& conv, const BlockTile& tile, const OpenClFacts& facts) {
  RETURN_IF_ERROR(
      CheckSplit(tile.split, conv.BlocksOf(tile), conv.TilesOf(tile), conv.SharedBytesOf(tile)));
  RETURN_IF_ERROR(CheckWarps(tile.warps(), PartsOf(conv.factors), facts));
  RETURN_IF_ERROR(CheckCopies(conv, tile));
  if (const int64_t bytes = BlockBytes(conv, tile); bytes > facts.mma.local_bytes)
    return InvalidArgument("tiles: expected at most {} bytes of local memory, got {}",
                           facts.mma.local_bytes, bytes);
  return OkStatus();
}

/// A tile and what an output of it takes beside one of the first, in percent.
struct Priced {
  BlockTile tile;
  int64_t price;
};
constexpr Priced kHalfTiles[] = {
    {{8, 16, 64, 64, 64, 32, 1, 3}, 100},  {{8, 16, 128, 64, 32, 64, 1, 3}, 95},
    {{14, 14, 64, 64, 32, 64, 1, 3}, 100}, {{8, 8, 64, 64, 32, 32, 1, 3}, 127},
    {{7, 14, 32, 64, 32, 32, 1, 3}, 140},  {{7, 7, 64, 64, 32, 32, 1, 3}, 127}};
constexpr Priced kFloatTiles[] = {{{8, 16, 64, 64, 32, 32, 1, 3}, 100},
                                  {{14, 14, 64, 64, 32, 32, 1, 3}, 105},
                                  {{8, 8, 64, 64, 32, 32, 1, 3}, 107},
                                  {{7, 14, 64, 64, 32, 32, 1, 3}, 107},
                                  {{7, 7, 64, 64, 32, 32, 1, 3}, 107}};

/// Multiply-adds of one unit after the other, in the rounds in which units work through the groups.
/// What shared tiles cost beside is counted in those: 3 us or more of an H200, which makes 1.3
/// million of f16 in one and 0.24 of f32.
int64_t CostOf(const BlockConv& conv, const BlockTile& tile, int64_t price, int64_t units) {
  const int64_t join = conv.factors == MmaFactors::kHalves ? 1 << 20 : 1 << 18;
  const int64_t sums = DivideUp(conv.TilesOf(tile) * tile.split, units) * tile.pixels() * tile.bn;
  const int64_t macs = sums * conv.taps() * conv.ic / tile.split * price / 100;
  return tile.split == 1 ? macs : macs + join * (2 + tile.split);
}

BlockTile UsualBlocks(const BlockConv& conv, const OpenClFacts& facts) {
  BlockTile chosen;
  if (facts.is_cpu) return chosen;
  const bool is_half = conv.factors == MmaFactors::kHalves;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (auto [tile, price] : is_half ? std::span<const Priced>(kHalfTiles) : kFloatTiles) {
    for (const int64_t split : {1, 2, 4, 8}) {
      tile.split = split;
      if (!CheckBlocks(conv, tile, facts).ok()) continue;
      const int64_t cost = CostOf(conv, tile, price, facts.compute_units);
      if (cost >= least) continue;
      least = cost;
      chosen = tile;
    }
  }
  return chosen;
}

template <MmaFactors kFactors>
Result<BlockConv> ReadForBlocks(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(PixelConv read, ReadGroupedForMma(group, device));
  if (read.groups > 1) return Unsupported("groups: a tile is of one");
  const BlockConv conv{std::move(read), kFactors};
  constexpr int64_t kLeastTaps = 4;
  if (conv.plane_taps() < kLeastTaps)
    return Unsupported("{} taps of a plane: a block comes while {} are multiplied",
                       conv.plane_taps(), kLeastTaps);
  const OpenClFacts& facts = AsOpenCl(device).facts();
  RETURN_IF_ERROR(CheckBlocks(conv, UsualBlocks(conv, facts), facts));
  return conv;
}

ParamSpace BlockSpace(const Problem&, const BlockConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  return {kBlockFields.Tunables(), kBlockFields.Write(UsualBlocks(conv, facts)),
          [&facts, conv](const Params& params) {
            return CheckBlocks(conv, kBlockFields.Read(params), facts);
          }};
}

Result<std::unique_ptr<PreparedKernel>> PrepareBlocks(const Problem& problem, const BlockConv& conv,
                                                      const Params& params, const Device& device) {
  const BlockTile tile = kBlockFields.Read(params);
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  kBlockFields.Define(tile, options);
  DefineGeometry(conv, options);
  DefineColumns(conv, tile.wn, options);
  options.Define("EMULATED", AsOpenCl(device).facts().mma.emulated ? 1 : 0);
  if (PartsOf(conv.factors) > 1) options.Define("PARTS", PartsOf(conv.factors));
  const WorkSizes sizes =
      GroupSizes(tile.warps().items(), DivideUp(conv.oc, tile.bn),
                 DivideUp(conv.out[1], tile.rows) * DivideUp(conv.out[2], tile.columns),
                 conv.batch * conv.out[0] * tile.split);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, GatheredForm(conv, conv.ChannelsOf(tile)),
                              {.path = "conv/block_mma.cl",
                               .function = "conv_block_mma",
                               .options = std::move(options),
                               .sizes = sizes},
                              device));
  made->workspace = conv.SharedBytesOf(tile);
  if (made->workspace > 0) made->recorded[0].Workspace(0, kTilePartBytes).Tickets();
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

template <MmaFactors kFactors>
Result<std::vector<StateAssignment>> BlockStates(const ir::Graph& group, const BlockConv& conv,
                                                 const Device& device) {
  return BuffersOf(StorageOf(kFactors), group, conv, device);
}
Work BlockWork(const Problem&, const BlockConv& conv, const Params&, const Device&) {
  return MmaConvWork(conv.factors, conv);
}

/// Layers of less are as fast by opencl.conv.mma, whose tiles are smaller, and those that step over
/// pixels, or whose taps lie far apart, faster: the window under their tiles is several times as
/// large (3x3 of 2048 channels with dilation 12 on an H100: 0.89 ms).
template <int kUsual>
int BlockTaste(const BlockConv& conv, const Device& device) {
  constexpr int64_t kMuch = 300'000'000, kLargeWindow = 5;
  const BlockTile tile = UsualBlocks(conv, AsOpenCl(device).facts());
  if (conv.WindowOf(tile) > kLargeWindow * tile.rows * tile.columns) return 2;
  const int64_t macs = conv.pixels() * conv.oc * conv.taps() * conv.ic;
  const bool steps_over = conv.stride[1] * conv.stride[2] > 1;
  return conv.ic >= 32 && conv.oc >= 32 && macs >= kMuch && !steps_over ? kUsual : 2;
}

template <MmaFactors kFactors, int kUsual>
constexpr Family<BlockConv> kBlockFamily{.read = ReadForBlocks<kFactors>,
                                         .states = BlockStates<kFactors>,
                                         .prepare = PrepareBlocks,
                                         .params = BlockSpace,
                                         .taste = BlockTaste<kUsual>,
                                         .work = BlockWork};

}  // namespace

extern const KernelDesc kOpenClConvMmaBlocks, kOpenClConvMmaBlocksF32;
const KernelDesc kOpenClConvMmaBlocks = {.name = "opencl.conv.mma.blocks",
                                         .match = MatchAs<kBlockFamily<MmaFactors::kHalves, 13>>,
                                         .parameters = ParametersOf<kBlockFields>};
const KernelDesc kOpenClConvMmaBlocksF32 = {.name = "opencl.conv.mma.blocks.f32",
                                            .match = MatchAs<kBlockFamily<MmaFactors::kFloats, 11>>,
                                            .parameters = ParametersOf<kBlockFields>};

}  // namespace fettle::kernels
