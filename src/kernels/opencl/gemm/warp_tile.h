// The tile of a product that a work-group makes by matrix instructions (warp_tiles.clh), as
// parameters.
#pragma once

#include "kernels/fields.h"
#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {

/// bm x bn outputs of a work-group, bk steps of k at a time in `stages` places of local memory,
/// wm x wn outputs of each warp of 32 work-items.
struct WarpTile {
  int64_t bm = 32, bn = 32, bk = 32, wm = 16, wn = 16, stages = 2;
  int64_t items() const { return bm / wm * (bn / wn) * 32; }
  /// As TILE_BYTES of warp_tiles.clh.
  int64_t bytes() const;
};

inline constexpr Fields kWarpTileFields("gemm/warp_tiles.clh",
                                        Field{"BM", &WarpTile::bm, {32, 64, 128, 256}, "BM"},
                                        Field{"BN", &WarpTile::bn, {32, 64, 128, 256}, "BN"},
                                        Field{"BK", &WarpTile::bk, {32, 64}, "BK"},
                                        Field{"WM", &WarpTile::wm, {16, 32, 64}, "WM"},
                                        Field{"WN", &WarpTile::wn, {16, 32, 64}, "WN"},
                                        Field{"STAGES", &WarpTile::stages, {2, 3, 4, 6}, "STAGES"});

/// Whether work-groups of the tile fit the device.
Status CheckWarpTile(const WarpTile& tile, const OpenClFacts& facts);

/// The largest tile that leaves few units of the device idle, for `batch` products [m, n].
WarpTile UsualWarpTile(int64_t m, int64_t n, int64_t batch, const OpenClFacts& facts);

/// The macros of mma.clh and warp_tiles.clh.
void DefineWarpTile(const WarpTile& tile, const OpenClFacts& facts, BuildOptions& options);

}  // namespace fettle::kernels
