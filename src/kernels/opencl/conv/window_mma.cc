// Convolutions of few input channels by matrix instructions, of a window in local memory
// (window_mma.cl).
//   opencl.conv.mma.window      of f16
//   opencl.conv.mma.window.f32  of f32, each in two parts of TF32
#include <algorithm>

#include "kernels/opencl/conv/gathered_tiles.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// rows x columns output pixels and bn channels of a work-group, wm pixels x wn channels of each
/// warp of 32 work-items; so many tiles one after the other.
struct WindowTile {
  int64_t rows = 4, columns = 8, bn = 32, wm = 16, wn = 16, tiles = 1;
  int64_t pixels() const { return rows * columns; }
  int64_t items() const { return pixels() / wm * (bn / wn) * 32; }
};
/// A convolution, and chunks of input channels.
struct WindowConv : PixelConv {
  MmaFactors factors = MmaFactors::kHalves;
  int64_t chunks() const { return DivideUp(ic, ChunkOf(factors)); }
  int64_t TilesOf(const WindowTile& tile) const {
    return DivideUp(out[1], tile.rows) * DivideUp(out[2], tile.columns);
  }
};

constexpr Fields kWindowFields("conv/window_mma.cl",
                               Field{"TILE_H", &WindowTile::rows, {1, 2, 4, 8, 16}, "TILE_H"},
                               Field{
                                   "TILE_W", &WindowTile::columns, {8, 16, 32, 64, 128}, "TILE_W"},
                               Field{"BN", &WindowTile::bn, {16, 32, 64}, "BN"},
                               Field{"WM", &WindowTile::wm, {16, 32, 64}, "WM"},
                               Field{"WN", &WindowTile::wn, {16, 32, 64}, "WN"},
                               Field{"TILES", &WindowTile::tiles, {1, 2, 3, 4, 5, 6, 8}, "TILES"});

/// As BIAS_AT of window_mma.cl, and the bias.
int64_t WindowBytes(const WindowConv& conv, const WindowTile& tile) {
  const auto extent = [&](int axis, int64_t outputs) {
    return (outputs - 1) * conv.stride[axis] + (conv.kernel[axis] - 1) * conv.dilation[axis] + 1;
  };
  const int64_t chunks = conv.chunks();
  const int64_t window = extent(1, tile.rows) * extent(2, tile.columns) * (chunks | 1);
  const int64_t weights = tile.bn * (conv.taps() * chunks | 1);
  const int64_t patches = tile.pixels() / tile.wm * (tile.bn / tile.wn) * 16 * (tile.wn + 8) * 4;
  const int64_t places = tile.tiles > 1 ? 2 : 1;
  return places * std::max(window * 16, patches) + (weights + 1) * 16 + tile.bn * 4;
}

Status CheckWindow(const WindowConv& conv, const WindowTile& tile, const OpenClFacts& facts) {
  if (tile.pixels() % tile.wm != 0 || tile.bn % tile.wn != 0)
    return InvalidArgument("WM, WN: {}x{} do not cut {}x{} evenly", tile.wm, tile.wn, tile.pixels(),
                           tile.bn);
  if (tile.items() > facts.max_work_group_size)
    return InvalidArgument("TILE_H, TILE_W, BN, WM, WN: expected at most {} work-items, got {}",
                           facts.max_work_group_size, tile.items());
  const int64_t sums = 64 * 32 / PartsOf(conv.factors);
  if (tile.wm * tile.wn > sums)
    return InvalidArgument("WM, WN: expected at most {} sums of a warp, got {}", sums,
                           tile.wm * tile.wn);
  if (const int64_t bytes = WindowBytes(conv, tile); bytes > facts.mma.local_bytes)
    return InvalidArgument("tiles: expected at most {} bytes of local memory, got {}",
                           facts.mma.local_bytes, bytes);
  return OkStatus();
}

/// Whether two work-groups of a unit have room for the window, and it keeps all units busy.
bool HasRoom(const WindowConv& conv, const WindowTile& tile, const OpenClFacts& facts) {
  const int64_t groups = conv.TilesOf(tile) * DivideUp(conv.oc, tile.bn) * conv.batch;
  return groups >= 2 * facts.compute_units && 2 * WindowBytes(conv, tile) <= facts.mma.local_bytes;
}

/// The largest ones fill a unit's registers alone: as many one after the other as each unit has.
WindowTile InTurn(const WindowConv& conv, const WindowTile& tile, const OpenClFacts& facts) {
  constexpr int64_t kFull = 512, kMostTiles = 8;
  const bool is_alone = tile.pixels() == kFull && conv.factors == MmaFactors::kHalves;
  WindowTile in_turn = tile;
  in_turn.tiles = std::min(kMostTiles, DivideUp(conv.TilesOf(tile), facts.compute_units));
  return is_alone && CheckWindow(conv, in_turn, facts).ok() ? in_turn : tile;
}

/// The largest that has room, beside the weights of fewer channels where many leave none; else the
/// smallest.
WindowTile UsualWindow(const WindowConv& conv, const OpenClFacts& facts) {
  const int64_t most = conv.oc <= 16 ? 16 : conv.oc <= 32 ? 32 : 64;
  const int64_t wm = 64 / PartsOf(conv.factors);
  WindowTile chosen = {2, 8, 16, 16, 16};
  for (int64_t bn = most; bn >= 16; bn /= 2) {
    const int64_t wn = std::min<int64_t>(bn, 32);
    const WindowTile tiles[] = {{16, 32, bn, wm, wn}, {8, 32, bn, wm, wn}, {8, 32, bn, 32, wn},
                                {4, 32, bn, 32, wn},  {8, 16, bn, 32, wn}, {4, 16, bn, 16, wn},
                                {8, 8, bn, 16, wn},   {4, 8, bn, 16, wn}};
    for (const WindowTile& tile : tiles) {
      if (!CheckWindow(conv, tile, facts).ok()) continue;
      chosen = tile;
      if (HasRoom(conv, tile, facts)) return InTurn(conv, tile, facts);
    }
  }
  return InTurn(conv, chosen, facts);
}

template <MmaFactors kFactors>
Result<WindowConv> ReadForWindow(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(PixelConv read, ReadForMma(group, device));
  const WindowConv conv{std::move(read), kFactors};
  const OpenClFacts& facts = AsOpenCl(device).facts();
  // Programs name each of the pairs of chunks.
  constexpr int64_t kMostChunks = 160;
  if (conv.taps() * conv.chunks() > kMostChunks)
    return Unsupported("{} channels under {} taps: more than a work-group holds", conv.ic,
                       conv.taps());
  RETURN_IF_ERROR(CheckWindow(conv, UsualWindow(conv, facts), facts));
  return conv;
}

ParamSpace WindowSpace(const Problem&, const WindowConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  return {kWindowFields.Tunables(), kWindowFields.Write(UsualWindow(conv, facts)),
          [&facts, conv](const Params& params) {
            return CheckWindow(conv, kWindowFields.Read(params), facts);
          }};
}

Result<std::unique_ptr<PreparedKernel>> PrepareWindow(const Problem& problem,
                                                      const WindowConv& conv, const Params& params,
                                                      const Device& device) {
  const WindowTile tile = kWindowFields.Read(params);
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  kWindowFields.Define(tile, options);
  DefineGeometry(conv, options);
  DefineColumns(conv, tile.wn, options);
  options.Define("EMULATED", AsOpenCl(device).facts().mma.emulated ? 1 : 0);
  if (PartsOf(conv.factors) > 1) options.Define("PARTS", PartsOf(conv.factors));
  const WorkSizes sizes = GroupSizes(tile.items(), DivideUp(conv.oc, tile.bn),
                                     DivideUp(conv.TilesOf(tile), tile.tiles), conv.batch);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, GatheredForm(conv, ChunkOf(conv.factors)),
                              {.path = "conv/window_mma.cl",
                               .function = "conv_window_mma",
                               .options = std::move(options),
                               .sizes = sizes},
                              device));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

template <MmaFactors kFactors>
Result<std::vector<StateAssignment>> WindowStates(const ir::Graph& group, const WindowConv& conv,
                                                  const Device& device) {
  return BuffersOf(StorageOf(kFactors), group, conv, device);
}
Work WindowWork(const Problem&, const WindowConv& conv, const Params&, const Device&) {
  return MmaConvWork(conv.factors, conv);
}

/// Where several taps read each pixel, and few tiles of k would make up for bringing it each time.
/// Long sums of f32 are left to opencl.conv.mma.f32: 5x5 of 24 channels to 144 at 112x112 takes
/// 0.078 ms by it on an H200, and 0.145 here. What is left of windows has few channels and pixels:
/// 3x3 of 8 to 16 at 30x40 takes 3.7 us, and 17 by opencl.conv.direct.
int WindowTaste(const WindowConv& conv, const Device& device) {
  if (conv.taps() == 1) return 2;
  const bool is_large = conv.image_pixels() >= 56 * 56;
  const bool is_short = conv.factors == MmaFactors::kHalves || conv.taps() * conv.chunks() <= 72;
  if (conv.ic <= 32 && is_large && is_short) return 13;
  return FillsMmaTiles(conv) || AsOpenCl(device).facts().mma.emulated ? 2 : 11;
}

template <MmaFactors kFactors>
constexpr Family<WindowConv> kWindowFamily{.read = ReadForWindow<kFactors>,
                                           .states = WindowStates<kFactors>,
                                           .prepare = PrepareWindow,
                                           .params = WindowSpace,
                                           .taste = WindowTaste,
                                           .work = WindowWork};

}  // namespace

extern const KernelDesc kOpenClConvMmaWindow, kOpenClConvMmaWindowF32;
const KernelDesc kOpenClConvMmaWindow = {.name = "opencl.conv.mma.window",
                                         .match = MatchAs<kWindowFamily<MmaFactors::kHalves>>,
                                         .parameters = ParametersOf<kWindowFields>};
const KernelDesc kOpenClConvMmaWindowF32 = {.name = "opencl.conv.mma.window.f32",
                                            .match = MatchAs<kWindowFamily<MmaFactors::kFloats>>,
                                            .parameters = ParametersOf<kWindowFields>};

}  // namespace fettle::kernels
