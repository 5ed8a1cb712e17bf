// The tile of a product that a work-group makes by matrix instructions (warp_tiles.clh), as
// parameters.
#pragma once

#include "kernels/fields.h"
#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {

/// Bytes that one copy brings to local memory, and pairs of them.
inline constexpr int64_t kChunkBytes = 16, kChunkPairs = 8;

/// bm x bn outputs of a work-group, bk pairs of bytes along k at a time in `stages` places of local
/// memory, wm x wn outputs of each warp of 32 work-items, wk warps for each of those, a part of the
/// steps for each. `split` groups share the outputs of a tile, each a part of k: all but the last
/// to come leave their sums in a workspace. `warpgroups`: by instructions of 128 work-items
/// (warpgroup_tiles.clh), which fix all but bm, bn, stages and split.
struct WarpTile {
  int64_t bm = 32, bn = 32, bk = 32, wm = 16, wn = 16, wk = 1, stages = 2, split = 1,
          warpgroups = 0;
  int64_t items() const { return bm / wm * (bn / wn) * wk * 32; }
  /// As TILE_BYTES of warp_tiles.clh, and a bias.
  int64_t bytes() const;
};

inline constexpr Fields kWarpTileFields(
    "gemm/warp_tiles.clh", Field{"BM", &WarpTile::bm, {32, 64, 128, 256}, "BM"},
    Field{"BN", &WarpTile::bn, {32, 64, 128, 256}, "BN"},
    Field{"BK", &WarpTile::bk, {32, 64, 128, 256}, "BK"},
    Field{"WM", &WarpTile::wm, {16, 32, 64}, "WM"},
    Field{"WN", &WarpTile::wn, {16, 32, 64, 128, 256}, "WN"},
    Field{"WK", &WarpTile::wk, {1, 2, 4}, "WK"},
    Field{"STAGES", &WarpTile::stages, {2, 3, 4, 6}, "STAGES"},
    Field{"SPLIT", &WarpTile::split, {1, 2, 3, 4, 6, 8}, "SPLIT"},
    Field{"WARPGROUPS", &WarpTile::warpgroups, {0, 1}, "WARPGROUPS"});

/// `batch` products [m, n] over k, which counts pairs of bytes.
struct WarpProduct {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  /// The device has instructions of warpgroups for its factors, of which A lies by rows.
  bool for_warpgroups = false;
  /// Parts that each f32 is cut to, 1 or 2 (PARTS of warp_tiles.clh).
  int64_t parts = 1;
  /// Work-groups, of one part of k each.
  int64_t TilesOf(const WarpTile& tile) const;
  /// Bytes in which groups add up a tile; 0: none does.
  int64_t SharedBytesOf(const WarpTile& tile) const;
};

/// What a part of a tile is made of in the workspace, four floats, and the most of it.
inline constexpr int64_t kTilePartBytes = 16, kMostSharedBytes = 64 << 20;

/// Whether the warps cut the tile evenly and have registers for it.
Status CheckWarps(const WarpTile& tile, int64_t parts, const OpenClFacts& facts);

/// Whether a tile's steps can be shared by `split` work-groups: of `most` steps or blocks, with
/// tickets for `tiles` tiles and a workspace of `shared_bytes`.
Status CheckSplit(int64_t split, int64_t most, int64_t tiles, int64_t shared_bytes);

/// Whether work-groups of the tile fit the device, and the product so many parts.
Status CheckWarpTile(const WarpProduct& product, const WarpTile& tile, const OpenClFacts& facts);

/// The largest tile that leaves few units of the device idle; of few tiles small ones, or in parts.
WarpTile UsualWarpTile(const WarpProduct& product, const OpenClFacts& facts);

/// Where work-groups are launched.
WorkSizes WarpTileSizes(const WarpProduct& product, const WarpTile& tile);

/// The macros of mma.clh and warp_tiles.clh.
void DefineWarpTile(const WarpTile& tile, const OpenClFacts& facts, BuildOptions& options);

}  // namespace fettle::kernels
