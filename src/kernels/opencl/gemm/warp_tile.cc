#include "kernels/opencl/gemm/warp_tile.h"

#include <algorithm>
#include <limits>

#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {

int64_t WarpTile::bytes() const {
  const int64_t patches = bm / wm * (bn / wn) * 16 * (wn + 8) * 4;
  const int64_t parts = (wk - 1) * bm * bn * 4;
  const int64_t bias = bn * 4;
  return std::max({stages * (bm + bn) * bk * 2, patches, parts}) + bias;
}

int64_t WarpProduct::TilesOf(const WarpTile& tile) const {
  return DivideUp(m, tile.bm) * DivideUp(n, tile.bn) * batch;
}
int64_t WarpProduct::SharedBytesOf(const WarpTile& tile) const {
  return tile.split == 1 ? 0 : TilesOf(tile) * tile.split * tile.bm * tile.bn * 4;
}

namespace {

Status CheckWarpgroups(const WarpProduct& product, const WarpTile& tile) {
  constexpr int64_t kMostColumns = 64;
  if (tile.warpgroups == 0) {
    if (tile.wn <= kMostColumns) return OkStatus();
    return InvalidArgument("WN: expected at most {} without WARPGROUPS, got {}", kMostColumns,
                           tile.wn);
  }
  if (!product.for_warpgroups)
    return InvalidArgument("WARPGROUPS: no instructions for this product here");
  const bool fits = tile.bm % 64 == 0 && tile.bn >= 64 && tile.bk == 64 && tile.wm == 16 &&
                    tile.wn == tile.bn && tile.wk == 1 && tile.stages >= 3;
  if (fits) return OkStatus();
  return InvalidArgument("WARPGROUPS: expected WM=16, WN=BN, BK=64, WK=1 and STAGES of 3 at least");
}

}  // namespace

Status CheckWarps(const WarpTile& tile, int64_t parts, const OpenClFacts& facts) {
  if (tile.bm % tile.wm != 0 || tile.bn % tile.wn != 0)
    return InvalidArgument("WM, WN: {}x{} do not cut {}x{} evenly", tile.wm, tile.wn, tile.bm,
                           tile.bn);
  const int64_t items = tile.items();
  if (items > facts.max_work_group_size)
    return InvalidArgument("BM, BN, WM, WN: expected at most {} work-items, got {}",
                           facts.max_work_group_size, items);
  // Registers of a work-item: the least that the largest file of today has for so many.
  constexpr int64_t kSums = 64 * 64, kRegisters = 65536;
  const int64_t sums = tile.wm * tile.wn * parts;
  if (sums / 32 * 2 * items > kRegisters || sums > kSums)
    return InvalidArgument("WM, WN: {} work-items have too few registers", items);
  if (tile.bk < 32 * tile.wk)
    return InvalidArgument("BK: expected at least {}, got {}", 32 * tile.wk, tile.bk);
  return OkStatus();
}

Status CheckSplit(int64_t split, int64_t most, int64_t tiles, int64_t shared_bytes) {
  if (split == 1) return OkStatus();
  if (split > most) return InvalidArgument("SPLIT: expected at most {}, got {}", most, split);
  if (tiles > OpenClStream::kTickets)
    return InvalidArgument("SPLIT: expected at most {} tiles, got {}", OpenClStream::kTickets,
                           tiles);
  if (shared_bytes > kMostSharedBytes)
    return InvalidArgument("SPLIT: expected parts of at most {} bytes, got {}", kMostSharedBytes,
                           shared_bytes);
  return OkStatus();
}

Status CheckWarpTile(const WarpProduct& product, const WarpTile& tile, const OpenClFacts& facts) {
  RETURN_IF_ERROR(CheckSplit(tile.split, DivideUp(product.k, tile.bk), product.TilesOf(tile),
                             product.SharedBytesOf(tile)));
  RETURN_IF_ERROR(CheckWarpgroups(product, tile));
  RETURN_IF_ERROR(CheckWarps(tile, product.parts, facts));
  const int64_t items = tile.items();
  if (std::min(tile.bm, tile.bn) * tile.bk / 8 % items != 0)
    return InvalidArgument("BK: {} work-items cannot share the tiles evenly", items);
  if (tile.bytes() > facts.mma.local_bytes)
    return InvalidArgument("tiles: expected at most {} bytes of local memory, got {}",
                           facts.mma.local_bytes, tile.bytes());
  return OkStatus();
}

namespace {

/// What makes up for too few tiles of the smallest size. Split, sums are written and read again,
/// which costs as much as some 800 steps of k; smaller tiles read more, with two warps for each
/// piece of outputs. Figures of an H200: docs/opencl.md.
WarpTile Shared(const WarpProduct& product, const WarpTile& tile, const OpenClFacts& facts) {
  constexpr int64_t kLongSum = 900, kVeryLongSum = 2600, kShortSum = 384, kLeastSteps = 256;
  constexpr WarpTile kPaired = {32, 64, 128, 16, 32, 2, 4}, kSmall = {32, 32, 128, 16, 16, 2, 4};
  const int64_t tiles = product.TilesOf(tile);
  WarpTile shared = tile;
  if (product.k >= kLongSum && tiles * 4 <= facts.compute_units) {
    for (const int64_t parts : {2, 3, 4, 6, 8}) {
      if (parts * tiles <= facts.compute_units && product.k >= parts * kLeastSteps)
        shared.split = parts;
    }
  } else if (product.k >= kVeryLongSum && tiles * 2 <= facts.compute_units) {
    shared = kPaired;
    shared.split = 2;
  } else if (product.k >= kShortSum && tiles * 2 <= facts.compute_units) {
    shared = kSmall;
  }
  return CheckWarpTile(product, shared, facts).ok() ? shared : tile;
}

}  // namespace

WarpTile UsualWarpTile(const WarpProduct& product, const OpenClFacts& facts) {
  if (facts.is_cpu) return {};
  /// A tile and what an output of it takes beside one of the first, in percent.
  struct Priced {
    WarpTile tile;
    int64_t price;
  };
  constexpr Priced kTiles[] = {
      {{256, 128, 64, 64, 64, 1, 3}, 100},       {{128, 128, 32, 64, 64, 1, 3}, 110},
      {{128, 64, 64, 64, 32, 1, 3}, 125},        {{128, 64, 32, 64, 32, 1, 4}, 135},
      {{64, 64, 64, 32, 32, 1, 4}, 130},         {{64, 64, 64, 32, 32, 1, 3}, 135},
      {{32, 64, 64, 16, 32, 1, 4}, 160},         {{128, 256, 64, 16, 256, 1, 4, 1, 1}, 72},
      {{256, 128, 64, 16, 128, 1, 4, 1, 1}, 75}, {{128, 128, 64, 16, 128, 1, 6, 1, 1}, 83},
      {{64, 128, 64, 16, 128, 1, 6, 1, 1}, 100}, {{64, 64, 64, 16, 64, 1, 6, 1, 1}, 120}};
  WarpTile chosen = {32, 64, 32, 16, 32, 1, 3};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const auto& [tile, price] : kTiles) {
    if (!CheckWarpTile(product, tile, facts).ok()) continue;
    // Units work through the groups in rounds.
    const int64_t cost =
        DivideUp(product.TilesOf(tile), facts.compute_units) * tile.bm * tile.bn * price;
    if (cost >= least) continue;
    least = cost;
    chosen = tile;
  }
  return chosen.bm == 32 ? Shared(product, chosen, facts) : chosen;
}

WorkSizes WarpTileSizes(const WarpProduct& product, const WarpTile& tile) {
  return GroupSizes(tile.items(), DivideUp(product.n, tile.bn), DivideUp(product.m, tile.bm),
                    product.batch * tile.split);
}

void DefineWarpTile(const WarpTile& tile, const OpenClFacts& facts, BuildOptions& options) {
  kWarpTileFields.Define(tile, options);
  options.Define("EMULATED", facts.mma.emulated ? 1 : 0);
}

}  // namespace fettle::kernels
