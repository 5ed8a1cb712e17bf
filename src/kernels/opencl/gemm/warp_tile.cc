#include "kernels/opencl/gemm/warp_tile.h"

#include <algorithm>
#include <limits>

namespace fettle::kernels {

int64_t WarpTile::bytes() const {
  const int64_t patches = bm / wm * (bn / wn) * 16 * (wn + 8) * 4;
  return std::max(stages * (bm + bn) * bk * 2, patches);
}

Status CheckWarpTile(const WarpTile& tile, const OpenClFacts& facts) {
  if (tile.bm % tile.wm != 0 || tile.bn % tile.wn != 0)
    return InvalidArgument("WM, WN: {}x{} do not cut {}x{} evenly", tile.wm, tile.wn, tile.bm,
                           tile.bn);
  const int64_t items = tile.items();
  if (items > facts.max_work_group_size)
    return InvalidArgument("BM, BN, WM, WN: expected at most {} work-items, got {}",
                           facts.max_work_group_size, items);
  // Registers of a work-item: the least that the largest file of today has for so many.
  constexpr int64_t kSums = 64 * 64, kRegisters = 65536;
  if (tile.wm * tile.wn / 32 * 2 * items > kRegisters || tile.wm * tile.wn > kSums)
    return InvalidArgument("WM, WN: {} work-items have too few registers", items);
  if (std::min(tile.bm, tile.bn) * tile.bk / 8 % items != 0)
    return InvalidArgument("BK: {} work-items cannot share the tiles evenly", items);
  if (tile.bytes() > facts.mma.local_bytes)
    return InvalidArgument("tiles: expected at most {} bytes of local memory, got {}",
                           facts.mma.local_bytes, tile.bytes());
  return OkStatus();
}

WarpTile UsualWarpTile(int64_t m, int64_t n, int64_t batch, const OpenClFacts& facts) {
  if (facts.is_cpu) return {};
  /// A tile and what an output of it takes beside one of the first, in percent.
  struct Priced {
    WarpTile tile;
    int64_t price;
  };
  constexpr Priced kTiles[] = {{{256, 128, 64, 64, 64, 3}, 100}, {{128, 128, 32, 64, 64, 3}, 110},
                               {{128, 64, 64, 64, 32, 3}, 125},  {{128, 64, 32, 64, 32, 4}, 135},
                               {{64, 64, 64, 32, 32, 4}, 130},   {{64, 64, 64, 32, 32, 3}, 135},
                               {{32, 64, 64, 16, 32, 4}, 160}};
  WarpTile chosen = {32, 64, 32, 16, 32, 3};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const auto& [tile, price] : kTiles) {
    if (!CheckWarpTile(tile, facts).ok()) continue;
    // Units work through the groups in rounds.
    const int64_t groups = DivideUp(m, tile.bm) * DivideUp(n, tile.bn) * batch;
    const int64_t cost = DivideUp(groups, facts.compute_units) * tile.bm * tile.bn * price;
    if (cost >= least) continue;
    least = cost;
    chosen = tile;
  }
  return chosen;
}

void DefineWarpTile(const WarpTile& tile, const OpenClFacts& facts, BuildOptions& options) {
  kWarpTileFields.Define(tile, options);
  options.Define("EMULATED", facts.mma.emulated ? 1 : 0);
}

}  // namespace fettle::kernels
