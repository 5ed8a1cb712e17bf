#include "kernels/opencl/conv/usual_tile.h"

#include <algorithm>
#include <limits>

namespace fettle::kernels {
namespace {

/// Work-groups of a unit at once: by its work-items, their registers, and local memory.
int64_t GroupsAtOnce(const WarpTile& tile, const OpenClFacts& facts) {
  constexpr int64_t kItems = 2048, kRegisters = 65536, kMostOfItem = 255;
  constexpr int64_t kAddresses = 40, kOfDriver = 1024;
  const int64_t registers = std::min(
      kMostOfItem, kAddresses + tile.wm * tile.wn / 32 + (tile.wm / 16 + tile.wn / 16) * 8);
  const int64_t groups =
      std::min({kItems / tile.items(), kRegisters / (registers * tile.items()),
                (facts.mma.local_bytes + kOfDriver) / (tile.bytes() + kOfDriver)});
  return std::max(groups, int64_t{1});
}

/// Nanoseconds by a fit to 200 times of the layers of ResNet-50 at batch 32 on an H200 (half of
/// them within 11 %): products, what tiles of k bring to local memory, and what leaves, which a
/// unit does for all of its tiles; and, in each round of groups that it has at once, the wait for
/// what is added, which a warp reads a few values after the other.
int64_t EstimatedNs(const WarpProduct& product, const WarpTile& tile, bool reads_sum,
                    const OpenClFacts& facts) {
  constexpr int64_t kProducts = 183, kCopies = 196, kStores = 840, kSums = 1365;
  const int64_t tiles = product.TilesOf(tile), steps = DivideUp(product.k, tile.bk);
  const int64_t area = tile.bm * tile.bn;
  const int64_t of_tile = steps * (kProducts * area / 4096 + kCopies * (tile.bm + tile.bn) / 128) +
                          kStores * area / 4096;
  const int64_t rounds = DivideUp(tiles, facts.compute_units * GroupsAtOnce(tile, facts));
  const int64_t sums = reads_sum ? rounds * kSums * tile.wm * tile.wn / 1024 : 0;
  return DivideUp(tiles, facts.compute_units) * of_tile + sums;
}

}  // namespace

WarpTile UsualConvTile(const WarpProduct& product, bool reads_sum, const OpenClFacts& facts) {
  /// `most_stages`: more make the unit hold fewer groups.
  struct Shape {
    int64_t bm, bn, wm, wn, most_stages;
  };
  constexpr Shape kShapes[] = {{64, 64, 32, 32, 4},
                               {64, 128, 32, 32, 4},
                               {64, 128, 32, 64, 3},
                               {128, 128, 32, 64, 3},
                               {64, 256, 32, 64, 3}};
  constexpr int64_t kSteps = 64, kFewSteps = 8, kTilesOfUnit = 2;
  const WarpTile usual = UsualWarpTile(product, facts);
  const WarpTile middle{.bm = 64, .bn = 128};
  if (facts.is_cpu || product.TilesOf(middle) < kTilesOfUnit * facts.compute_units) return usual;
  const int64_t steps = DivideUp(product.k, kSteps);
  WarpTile chosen = usual;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Shape& shape : kShapes) {
    const int64_t stages =
        steps <= kFewSteps ? std::clamp<int64_t>(steps, 2, 3) : shape.most_stages;
    const WarpTile tile{.bm = shape.bm,
                        .bn = shape.bn,
                        .bk = kSteps,
                        .wm = shape.wm,
                        .wn = shape.wn,
                        .stages = stages};
    if (!CheckWarpTile(product, tile, facts).ok()) continue;
    const int64_t cost = EstimatedNs(product, tile, reads_sum, facts);
    if (cost >= least) continue;
    least = cost;
    chosen = tile;
  }
  return chosen;
}

}  // namespace fettle::kernels
