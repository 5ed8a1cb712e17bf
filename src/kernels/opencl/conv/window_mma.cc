// opencl.conv.mma.window: convolutions of few input channels by matrix instructions, of a window in
// local memory (window_mma.cl).
#include <algorithm>

#include "kernels/opencl/conv/gathered_tiles.h"

namespace fettle::kernels {
namespace {

/// Input channels that one copy brings, and copies of a pixel.
constexpr int64_t kHalves = kChunkBytes / 2;
int64_t ChunksOf(const PixelConv& conv) { return DivideUp(conv.ic, kHalves); }

/// rows x columns output pixels and bn channels of a work-group, wm pixels x wn channels of each
/// warp of 32 work-items.
struct WindowTile {
  int64_t rows = 4, columns = 8, bn = 32, wm = 16, wn = 16;
  int64_t pixels() const { return rows * columns; }
  int64_t items() const { return pixels() / wm * (bn / wn) * 32; }
};
constexpr Fields kWindowFields("conv/window_mma.cl",
                               Field{"TILE_H", &WindowTile::rows, {2, 4, 8, 16}, "TILE_H"},
                               Field{"TILE_W", &WindowTile::columns, {8, 16, 32, 64}, "TILE_W"},
                               Field{"BN", &WindowTile::bn, {16, 32, 64}, "BN"},
                               Field{"WM", &WindowTile::wm, {16, 32, 64}, "WM"},
                               Field{"WN", &WindowTile::wn, {16, 32, 64}, "WN"});

/// As WINDOW_BYTES of window_mma.cl, and the bias.
int64_t WindowBytes(const PixelConv& conv, const WindowTile& tile) {
  const auto extent = [&](int axis, int64_t outputs) {
    return (outputs - 1) * conv.stride[axis] + (conv.kernel[axis] - 1) * conv.dilation[axis] + 1;
  };
  const int64_t chunks = ChunksOf(conv);
  const int64_t window = extent(1, tile.rows) * extent(2, tile.columns) * (chunks | 1);
  const int64_t weights = tile.bn * (conv.taps() * chunks | 1);
  const int64_t patches = tile.pixels() / tile.wm * (tile.bn / tile.wn) * 16 * (tile.wn + 8) * 4;
  return std::max((window + weights + 1) * 16, patches) + tile.bn * 4;
}

Status CheckWindow(const PixelConv& conv, const WindowTile& tile, const OpenClFacts& facts) {
  if (tile.pixels() % tile.wm != 0 || tile.bn % tile.wn != 0)
    return InvalidArgument("WM, WN: {}x{} do not cut {}x{} evenly", tile.wm, tile.wn, tile.pixels(),
                           tile.bn);
  if (tile.items() > facts.max_work_group_size)
    return InvalidArgument("TILE_H, TILE_W, BN, WM, WN: expected at most {} work-items, got {}",
                           facts.max_work_group_size, tile.items());
  constexpr int64_t kSums = 64 * 32;
  if (tile.wm * tile.wn > kSums)
    return InvalidArgument("WM, WN: expected at most {} sums of a warp, got {}", kSums,
                           tile.wm * tile.wn);
  if (const int64_t bytes = WindowBytes(conv, tile); bytes > facts.mma.local_bytes)
    return InvalidArgument("tiles: expected at most {} bytes of local memory, got {}",
                           facts.mma.local_bytes, bytes);
  return OkStatus();
}

/// The largest window that two work-groups of a unit have room for and that keeps all units busy.
WindowTile UsualWindow(const PixelConv& conv, const OpenClFacts& facts) {
  const int64_t bn = conv.oc <= 16 ? 16 : conv.oc <= 32 ? 32 : 64, wn = std::min<int64_t>(bn, 32);
  const WindowTile tiles[] = {{16, 32, bn, 64, wn}, {8, 32, bn, 64, wn}, {8, 32, bn, 32, wn},
                              {4, 32, bn, 32, wn},  {8, 16, bn, 32, wn}, {4, 16, bn, 16, wn},
                              {8, 8, bn, 16, wn},   {4, 8, bn, 16, wn},  {4, 8, 16, 16, 16}};
  WindowTile chosen = {2, 8, 16, 16, 16};
  for (const WindowTile& tile : tiles) {
    if (!CheckWindow(conv, tile, facts).ok()) continue;
    chosen = tile;
    const int64_t groups = DivideUp(conv.out[1], tile.rows) * DivideUp(conv.out[2], tile.columns) *
                           DivideUp(conv.oc, tile.bn) * conv.batch;
    if (groups >= 2 * facts.compute_units && 2 * WindowBytes(conv, tile) <= facts.mma.local_bytes)
      break;
  }
  return chosen;
}

Result<PixelConv> ReadForWindow(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadForMma(group, device));
  const OpenClFacts& facts = AsOpenCl(device).facts();
  // Programs name each of the pairs of chunks.
  constexpr int64_t kMostChunks = 160;
  if (conv.taps() * ChunksOf(conv) > kMostChunks)
    return Unsupported("{} channels under {} taps: more than a work-group holds", conv.ic,
                       conv.taps());
  RETURN_IF_ERROR(CheckWindow(conv, UsualWindow(conv, facts), facts));
  return conv;
}

ParamSpace WindowSpace(const Problem&, const PixelConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  return {kWindowFields.Tunables(), kWindowFields.Write(UsualWindow(conv, facts)),
          [&facts, conv](const Params& params) {
            return CheckWindow(conv, kWindowFields.Read(params), facts);
          }};
}

Result<std::unique_ptr<PreparedKernel>> PrepareWindow(const Problem& problem, const PixelConv& conv,
                                                      const Params& params, const Device& device) {
  const WindowTile tile = kWindowFields.Read(params);
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  kWindowFields.Define(tile, options);
  DefineGeometry(conv, options);
  options.Define("EMULATED", AsOpenCl(device).facts().mma.emulated ? 1 : 0);
  const auto items = static_cast<size_t>(tile.items());
  const WorkSizes sizes{.gws = {static_cast<size_t>(DivideUp(conv.oc, tile.bn)) * items,
                                static_cast<size_t>(DivideUp(conv.out[1], tile.rows) *
                                                    DivideUp(conv.out[2], tile.columns)),
                                static_cast<size_t>(conv.batch)},
                        .lws = {items, 1, 1}};
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, GatheredForm(conv, kHalves),
                              {.path = "conv/window_mma.cl",
                               .function = "conv_window_mma",
                               .options = std::move(options),
                               .sizes = sizes},
                              device));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

Result<std::vector<StateAssignment>> WindowStates(const ir::Graph& group, const PixelConv& conv,
                                                  const Device& device) {
  return BuffersOf(DType::kF16, group, conv, device);
}
Work WindowWork(const Problem&, const PixelConv& conv, const Params&, const Device&) {
  return MmaConvWork(DType::kF16, conv);
}

/// Where several taps read each pixel, and few tiles of k would make up for bringing it each time.
int WindowTaste(const PixelConv& conv, const Device&) {
  const bool is_large = conv.image_pixels() >= 56 * 56;
  return conv.taps() > 1 && conv.ic <= 32 && conv.oc >= 8 && is_large ? 13 : 2;
}

constexpr Family<PixelConv> kWindowFamily{.read = ReadForWindow,
                                          .states = WindowStates,
                                          .prepare = PrepareWindow,
                                          .params = WindowSpace,
                                          .taste = WindowTaste,
                                          .work = WindowWork};

}  // namespace

extern const KernelDesc kOpenClConvMmaWindow;
const KernelDesc kOpenClConvMmaWindow = {.name = "opencl.conv.mma.window",
                                         .match = MatchAs<kWindowFamily>,
                                         .parameters = ParametersOf<kWindowFields>};

}  // namespace fettle::kernels
