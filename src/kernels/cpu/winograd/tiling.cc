// compiled: small
// A convolution's volumes as images, images as tiles, and tiles as blocks.
#include <algorithm>

#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/winograd/conv_kernel.h"

namespace fettle::kernels {
namespace {

/// Bytes of the inputs' points where filters become points in the block: in the third-level cache,
/// since the filters' transform wants many tiles to share it.
constexpr int64_t kSharedInputs = int64_t{4} << 20;

}  // namespace

ConvGeometry AsImages(const ConvGeometry& volume) {
  ConvGeometry g = volume;
  g.batch *= g.out[0];
  g.ic *= g.kernel[0];
  for (auto* axes : {&g.in, &g.out, &g.kernel, &g.stride, &g.dilation}) (*axes)[0] = 1;
  g.pad[0] = 0;
  return g;
}

WinogradTiling TilesOf(const ConvGeometry& g, int outputs) {
  WinogradTiling tiling{CeilDiv(g.out[1], outputs), CeilDiv(g.out[2], outputs), 0};
  tiling.count = g.batch * tiling.rows * tiling.columns;
  return tiling;
}

bool IsSafeWinograd(const ConvGeometry& g) {
  return std::min(g.ic, g.oc) >= kSafeWinogradChannels && TilesOf(g, 4).count >= kSafeWinogradTiles;
}

bool PaysWinograd23(const ConvGeometry& g) {
  return std::min(g.ic, g.oc) >= 32 && !IsSafeWinograd(g) &&
         TilesOf(g, 2).count >= kSafeWinogradTiles;
}

WinogradBlock UsualWinogradBlock(const CpuInfo& info, const WinogradProblem& p, int threads) {
  const MicroKernels& kernels = GetMicroKernels();
  const int64_t l2 = info.l2_bytes > 0 ? info.l2_bytes : 512 * 1024;
  const int64_t point_bytes = p.points() * 4;
  WinogradBlock block;
  // Points that no cache near the core holds are four times as much to read as taps.
  block.from_taps = point_bytes * p.g.ic * p.g.oc > l2;
  // Else points of the inputs take half of the second-level cache; those of results a quarter.
  const int64_t inputs = block.from_taps ? kSharedInputs : l2 / 2;
  const int64_t most =
      std::max<int64_t>(kernels.mr, inputs / (point_bytes * p.g.ic) / kernels.mr * kernels.mr);
  const int64_t tiles = TilesOf(p.g, p.outputs).count;
  int64_t blocks = CeilDiv(tiles, most);
  if (!block.from_taps && blocks < int64_t{4} * threads && tiles >= kSafeWinogradTiles)
    blocks = RoundUp(blocks, threads);
  const int64_t padded_oc = RoundUp(p.g.oc, kernels.nr);
  if (blocks < threads || (block.from_taps && blocks % threads != 0)) {
    const int64_t each = block.from_taps ? 1 : 2;
    block.column_tasks = std::min<int64_t>(each * threads, padded_oc / kernels.nr);
    // Filters become points in each block, so that there are no more blocks than lanes want.
    if (tiles >= kSafeWinogradTiles)
      blocks = std::max(blocks, CeilDiv(threads, block.column_tasks));
  }
  // Whole register tiles: the remaining tiles are added up in another order, so they must be the
  // same ones for any number of threads.
  block.tiles = RoundUp(CeilDiv(tiles, blocks), kernels.mr);
  const int64_t columns = l2 / 4 / (point_bytes * block.tiles) / kernels.nr * kernels.nr;
  block.columns = std::clamp<int64_t>(columns, kernels.nr, padded_oc);
  return block;
}

}  // namespace fettle::kernels
