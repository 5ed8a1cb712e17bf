// A block of C by the micro-kernels: the loop nest that every product of this backend shares.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gemm/microkernel.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// Up to mr rows of a block: their pointers [tap][row] and where column 0 of the first one goes.
struct TileSpan {
  const float* const* a = nullptr;
  int64_t rows = 0;
  float* c = nullptr;
  int64_t a_step = 0, tap_step = 0;  // see TileArgs
  /// The rows of the next tile continue those of this one, and so do its rows of C. With pointers
  /// of several taps both tiles have mr rows.
  bool continues = false;
};

/// C[rows, columns] = clamp(A * B + bias + addend), or C += A * B.
struct BlockArgs {
  std::span<const TileSpan> tiles;
  int64_t a_offset = 0;
  int64_t taps = 1;
  int64_t depth = 0;
  /// Panels of nr columns, panel_stride elements apart (0: taps * depth * nr):
  /// [panel][taps * depth][nr]. Or, where b_step is set, rows b_step elements apart (one tap), of
  /// which up to 64 bytes past the last column are read.
  const float* b = nullptr;
  int64_t panel_stride = 0;
  int64_t b_step = 0;
  int64_t columns = 0;
  int64_t c_stride = 0;
  /// Column n of C lies at n / c_block * c_plane + n % c_block. A block is a multiple of nr / 2.
  int64_t c_block = INT64_MAX;
  int64_t c_plane = 0;
  const float* bias = nullptr;  // padded to whole panels
  bool accumulate = false;
  /// What lies over the first tile's C in a tensor that lies as C does; or null.
  const float* addend = nullptr;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  /// The rows of A lie behind the second-level cache: tiles fetch those of the tile behind them.
  bool far_rows = false;
  /// B comes from beyond the second-level cache, unless it was read just before.
  bool far_b = true;
  /// Fetched instead of the next panel, ahead_step floats with each step of the depth: what the B
  /// of a later block is made of.
  const float* ahead = nullptr;
  int64_t ahead_step = 0;
  /// Groups of a block diagonal (WeightShape::joined), without c_block, accumulate and addend:
  /// where the other groups' zeros met infinity or NaN, sums are made of each group's own.
  int64_t joined = 1;
  /// Depth (taps * depth) done before C is stored and read again.
  int64_t depth_block = INT64_MAX;
};
void RunBlock(const MicroKernels& kernels, const BlockArgs& args);

/// RunBlock of joined groups that are kept apart, without vectors.
void RunGroupsApart(const BlockArgs& args, int64_t nr);
/// Whether a sum of a block is no number.
bool HasNan(const BlockArgs& args);

/// Cuts `rows` rows into tiles of up to mr. Pointers lie tile by tile: tile i (rows i * mr ...) at
/// a + i * mr * taps. C's rows are c_stride apart. Returns the tiles written to `out`, at most
/// CeilDiv(rows, mr).
std::span<const TileSpan> CutTiles(int mr, const float* const* a, int64_t rows, int64_t taps,
                                   float* c, int64_t c_stride, TileSpan* out);

/// The same for rows of one tap that lie `stride` elements apart. `pointers` has room for `rows`
/// and lives as long as the tiles; where the stride is not 0 tiles need but their first.
struct EvenRows {
  const float* first = nullptr;
  int64_t stride = 0;
};
std::span<const TileSpan> CutTiles(int mr, const EvenRows& a, int64_t rows, float* c,
                                   int64_t c_stride, const float** pointers, TileSpan* out);

/// All rows of a product in as few tiles of up to mr rows as there can be, whose heights differ by
/// one row at most: a low tile at the end would read all of B for little work. Follows from the
/// number of rows alone, so that no row's sum depends on the tasks.
class RowTiles {
 public:
  RowTiles() = default;
  RowTiles(int mr, int64_t rows)
      : count_((rows + mr - 1) / mr), height_(rows / count_), higher_(rows % count_) {}
  int64_t count() const { return count_; }
  /// The first row of `tile`; that of count() is the number of rows.
  int64_t Begin(int64_t tile) const { return tile * height_ + std::min(tile, higher_); }

 private:
  int64_t count_ = 1, height_ = 0;
  int64_t higher_ = 0;  // so many tiles, the first ones, have a row more
};

/// CutTiles for tiles [begin, end) of `tiles`; `a` and `c` are those of their first row.
std::span<const TileSpan> CutTiles(const RowTiles& tiles, int64_t begin, int64_t end,
                                   const EvenRows& a, float* c, int64_t c_stride,
                                   const float** pointers, TileSpan* out);

/// How a product is cut into tasks (TaskGrid).
struct Blocking {
  int64_t tile_rows = 1;    // mr
  int64_t rows = 0;         // most of a task, a multiple of tile_rows
  int64_t panels = 0;       // most of a task
  int64_t depth_block = 0;  // see BlockArgs
};

/// Sizes by the caches, and enough tasks for `threads` lanes. `max_rows` limits the scratch that a
/// task needs.
Blocking ChooseBlocking(const CpuInfo& info, int mr, int nr, int64_t m, int64_t n, int64_t k,
                        int threads, int64_t max_rows);

/// Cuts tasks of `blocking` smaller, rows too, where by columns alone one of `threads` lanes has
/// more to do than it must: 24 panels on 16 lanes are two for eight of them. What is read again is
/// counted.
void BalanceRows(Blocking& blocking, int nr, int64_t m, int64_t n, int64_t k, int threads);

/// Of `panels` panels those of one task, so that there are enough tasks for `threads` lanes where
/// the rows alone make `row_tasks` (at least 1).
int64_t SplitPanels(int64_t panels, int64_t row_tasks, int threads);

/// Values of a tunable parameter around the one that is usual, within [1, most].
std::vector<int64_t> ValuesAround(int64_t usual, int64_t most);

/// A blocking as tunable parameters: "row_tiles" (of mr rows) and "panels" per task, "depth_block".
/// `usual` is always among the values.
std::vector<Tunable> BlockingTunables(const Blocking& usual, int mr, int64_t max_tiles,
                                      int64_t all_panels);
Params BlockingParams(const Blocking& blocking, int mr);
/// The blocking that `params` say, which may come from a file: within a task of `max_tiles` tiles
/// of rows, and of sizes that can be reckoned with. What they leave out is `usual`.
Blocking ReadBlocking(const Params& params, const Blocking& usual, int mr, int64_t max_tiles);

/// Fills the pointers of `rows` rows, `stride` elements apart, for taps = 1.
void FillRowPointers(const float* a, int64_t stride, int64_t rows, const float** out);

}  // namespace fettle::kernels
