#include "kernels/cpu/gemm/block.h"

#include <algorithm>

#include "kernels/cpu/gemm/pack.h"

namespace fettle::kernels {
namespace {

/// The longest slice of B that is fetched ahead: with the one at hand it fits into most
/// second-level caches.
constexpr int64_t kMostAhead = 256 * 1024 / sizeof(float);

/// Slices of fewer steps are too short to be fetched: processors see them coming by themselves.
constexpr int64_t kFewSteps = 32;

/// Tiles that share the fetching of one slice. In more of them each would ask for parts of lines.
constexpr int64_t kFetchers = 4;

/// What each of so many tiles that pass over a slice fetches of the `next` one, `step` elements
/// with each step of its depth, if that is not null: otherwise the first tile would wait for all of
/// B, and the memory for the others.
class Fetching {
 public:
  Fetching(const TileArgs& work, const float* next, int64_t step, int64_t tiles)
      : next_(next),
        steps_(work.taps * work.depth),
        fetchers_(tiles >= kFetchers ? kFetchers : (tiles >= 2 ? 2 : 1)) {
    if (next == nullptr || steps_ < kFewSteps || steps_ * step > kMostAhead) return;
    // Small products would wait for divisions.
    share_ = fetchers_ == 1 ? (step + 1) / 2 : (fetchers_ == 2 ? (step + 3) / 4 : (step + 7) / 8);
  }
  void Ask(int64_t tile, TileArgs& work) const {
    work.next_step = tile < fetchers_ ? share_ : 0;
    if (work.next_step != 0) work.next_b = next_ + 2 * steps_ * share_ * tile;
  }

 private:
  const float* next_;
  int64_t steps_, fetchers_, share_ = 0;
};

/// Has `work` fetch the rows behind those of the `count` tiles from `tile` on, which it computes,
/// where they follow in memory: what it would wait for, 14 lines at a time, comes while it
/// computes.
void AskForRows(std::span<const TileSpan> tiles, size_t tile, size_t count, TileArgs& work) {
  const TileSpan& last = tiles[tile + count - 1];
  if (work.taps > 1 || !last.continues || last.a_step > 2 * work.depth) return;
  const int64_t rows = tiles[tile].rows * static_cast<int64_t>(count);
  work.next_b = tiles[tile + count].a[0] + work.a_offset;
  work.next_step = CeilDiv(rows * last.a_step, 2 * work.depth);
}

/// The tiles from `tile` on that one call takes (TileArgs::repeat).
size_t CountAlike(std::span<const TileSpan> tiles, size_t tile, int64_t taps, int mr) {
  size_t count = 1;
  if (taps > 1 || tiles[tile].rows != mr) return count;
  while (tiles[tile + count - 1].continues && tiles[tile + count].rows == mr) ++count;
  return count;
}

/// One panel over a slice of taps and depth, for all row tiles. `work` is as before after it: a
/// copy of what was just written would wait for each of its parts.
void RunPanel(const MicroKernels& kernels, const BlockArgs& args, TileArgs& work, int64_t column,
              int64_t first_tap, const float* next) {
  const auto offset = [&](int64_t n) {
    return n < args.c_block ? n : n / args.c_block * args.c_plane + n % args.c_block;
  };
  const int64_t at = offset(column);
  work.c_half = offset(column + kernels.nr / 2) - at;
  const bool narrow = work.columns * 2 <= kernels.nr;
  const Fetching fetching(work, next, args.ahead == nullptr ? work.b_step : args.ahead_step,
                          std::ssize(args.tiles));
  const float* const addend = work.addend;
  const int64_t a_offset = work.a_offset;
  for (size_t i = 0; i < args.tiles.size(); ++i) {
    const TileSpan& tile = args.tiles[i];
    work.a = tile.tap_step != 0 ? tile.a : tile.a + first_tap * tile.rows;
    work.a_offset = a_offset + first_tap * tile.tap_step;
    work.a_step = tile.a_step;
    work.tap_step = tile.tap_step;
    work.c = tile.c + at;
    if (addend != nullptr) work.addend = addend + (work.c - args.tiles[0].c);
    const auto pair = narrow && tile.continues
                          ? kernels.narrow_pair[tile.rows + args.tiles[i + 1].rows]
                          : nullptr;
    fetching.Ask(static_cast<int64_t>(i), work);
    const bool asks = work.next_step == 0 && args.far_rows && column == 0;
    if (asks) AskForRows(args.tiles, i, pair != nullptr ? 2 : 1, work);
    if (pair != nullptr) {
      pair(work);
      ++i;
      continue;
    }
    // Each of the first tiles fetches its own part of B.
    const bool fetches_b = work.next_step != 0 && !asks;
    const size_t alike = fetches_b ? 1 : CountAlike(args.tiles, i, work.taps, kernels.mr);
    work.repeat = static_cast<int64_t>(alike);
    (narrow ? kernels.narrow : kernels.tile)[tile.rows](work);
    i += alike - 1;
  }
  work.addend = addend;
  work.a_offset = a_offset;
}

/// Taps [tap, tap + taps) and, where that is one, depths [k, k + depth): what all panels and tiles
/// of a block have done before the next slice begins, so that the rows of A stay in a cache.
struct Slice {
  int64_t tap, taps, k, depth;
};

/// The slices of a product, near-equal: whole taps where there are several, else parts of the
/// depth.
class Slices {
 public:
  explicit Slices(const BlockArgs& args)
      : taps_(args.taps), depth_(args.depth), cuts_taps_(args.taps > 1) {
    const int64_t whole = cuts_taps_ ? taps_ : std::max<int64_t>(depth_, 1);
    if (args.depth_block >= taps_ * depth_) {  // spares small products four divisions
      step_ = whole;
      count_ = 1;
      return;
    }
    const int64_t most =
        cuts_taps_ ? args.depth_block / std::max<int64_t>(depth_, 1) : args.depth_block;
    step_ = CeilDiv(whole, CeilDiv(whole, std::clamp<int64_t>(most, 1, whole)));
    count_ = CeilDiv(whole, step_);
  }
  int64_t count() const { return count_; }
  Slice At(int64_t i) const {
    const int64_t first = i * step_;
    if (cuts_taps_) return {first, std::min(step_, taps_ - first), 0, depth_};
    return {0, taps_, first, std::min(step_, depth_ - first)};
  }

 private:
  int64_t taps_, depth_;
  bool cuts_taps_;
  int64_t step_ = 0, count_ = 0;
};

/// The whole panels of short sums, for which getting ready takes as long as the sums: those of a
/// tile by one call, so that rows of C are written from end to end. Returns their columns.
int64_t RunAcross(const MicroKernels& kernels, const BlockArgs& args, TileArgs work,
                  int64_t panel_stride) {
  constexpr int64_t kManyPanels = 8;
  const int64_t panels = args.columns / kernels.nr;
  const bool is_plain = args.taps == 1 && args.c_block == INT64_MAX && args.addend == nullptr;
  // Rows of C that lie pages apart are written from end to end, too, while B stays near.
  constexpr int64_t kFarStride = 2048, kNearPanels = 1 << 15;
  const bool is_far =
      kernels.nr <= 16 && args.c_stride >= kFarStride && args.columns * args.depth <= kNearPanels;
  if (!is_plain || panels < kManyPanels || (args.depth >= kFewSteps && !is_far)) return 0;
  for (const TileSpan& tile : args.tiles) {
    if (tile.a_step == 0) return 0;
  }
  work.c_half = kernels.nr / 2;
  work.columns = kernels.nr;
  const float* const b = work.b;
  for (const TileSpan& tile : args.tiles) {
    work.a = tile.a;
    work.a_step = tile.a_step;
    work.repeat = tile.rows == kernels.mr ? panels : 1;
    work.repeat_b = panel_stride;
    for (int64_t panel = 0; panel < panels; panel += work.repeat) {
      work.b = b + panel * panel_stride;
      work.c = tile.c + panel * kernels.nr;
      work.bias = args.bias == nullptr ? nullptr : args.bias + panel * kernels.nr;
      kernels.tile[tile.rows](work);
    }
  }
  return panels * kernels.nr;
}

/// Elements of B from a panel of `nr` columns to the next one.
int64_t PanelStride(const BlockArgs& args, int64_t nr) {
  if (args.b_step != 0) return nr;
  return args.panel_stride != 0 ? args.panel_stride : args.taps * args.depth * nr;
}

}  // namespace

void RunBlock(const MicroKernels& kernels, const BlockArgs& args) {
  const int64_t nr = kernels.nr;
  const bool in_panels = args.b_step == 0;
  const int64_t b_step = in_panels ? nr : args.b_step;
  const int64_t panel_stride = PanelStride(args, nr);
  const Slices slices(args);
  const auto start = [&](const Slice& slice) {
    return args.b + (slice.tap * args.depth + slice.k) * b_step;
  };
  for (int64_t i = 0; i < slices.count(); ++i) {
    const Slice slice = slices.At(i);
    const bool last = i + 1 == slices.count();
    TileArgs tile;
    tile.taps = slice.taps;
    tile.depth = slice.depth;
    tile.a_offset = args.a_offset + slice.k;
    tile.b = start(slice);
    tile.b_step = b_step;
    tile.far_b = args.far_b;
    tile.c_stride = args.c_stride;
    tile.accumulate = args.accumulate || i > 0;
    if (last) {
      tile.low = args.low;
      tile.high = args.high;
      tile.addend = args.addend;
    }
    int64_t column = slices.count() == 1 ? RunAcross(kernels, args, tile, panel_stride) : 0;
    tile.b += column / nr * panel_stride;
    for (; column < args.columns; column += nr, tile.b += panel_stride) {
      tile.columns = std::min(nr, args.columns - column);
      tile.bias = args.bias == nullptr ? nullptr : args.bias + column;
      // Behind the last slice, and often behind the block, B goes on with the next panel.
      const bool turns = column + nr >= args.columns && !last;
      const float* next = turns ? start(slices.At(i + 1)) : tile.b + panel_stride;
      if (args.ahead != nullptr) next = args.ahead;
      RunPanel(kernels, args, tile, column, slice.tap, in_panels ? next : nullptr);
    }
  }
  if (args.joined > 1 && HasNan(args)) RunGroupsApart(args, nr);
}

namespace {

/// How far the rows lie apart where that is the same between all rows of all taps; otherwise 0.
int64_t EvenStep(const float* const* a, int64_t rows, int64_t taps) {
  if (rows < 2) return 0;
  const auto address = [&](int64_t i) { return reinterpret_cast<intptr_t>(a[i]); };
  const intptr_t step = address(1) - address(0);
  intptr_t different = 0;
  for (int64_t t = 0; t < taps && different == 0; ++t) {
    for (int64_t r = 1; r < rows; ++r)
      different |= address(t * rows + r) - address(t * rows + r - 1) - step;
  }
  return different == 0 ? step / static_cast<intptr_t>(sizeof(float)) : 0;
}

/// Whether the rows of a tile continue those of the one before it.
bool Continues(const TileSpan& before, const TileSpan& tile, int64_t taps) {
  if (tile.a_step == 0 || tile.a_step != before.a_step) return false;
  for (int64_t t = 0; t < taps; ++t) {
    if (before.a[t * before.rows] + before.rows * before.a_step != tile.a[t * tile.rows])
      return false;
  }
  return true;
}

/// Rows [row, row + rows) of `a`.
TileSpan EvenTile(const EvenRows& a, int64_t row, int64_t rows, float* c, const float** pointers) {
  FillRowPointers(a.first + row * a.stride, a.stride, a.stride != 0 ? 1 : rows, pointers + row);
  return {pointers + row, rows, c, a.stride};
}

}  // namespace

std::span<const TileSpan> CutTiles(int mr, const float* const* a, int64_t rows, int64_t taps,
                                   float* c, int64_t c_stride, TileSpan* out) {
  size_t count = 0;
  for (int64_t row = 0; row < rows; row += mr) {
    TileSpan tile{a + row * taps, std::min<int64_t>(mr, rows - row), c + row * c_stride};
    tile.a_step = EvenStep(tile.a, tile.rows, taps);
    if (count > 0)
      out[count - 1].continues = tile.rows == mr && Continues(out[count - 1], tile, taps);
    out[count++] = tile;
  }
  return {out, count};
}

std::span<const TileSpan> CutTiles(int mr, const EvenRows& a, int64_t rows, float* c,
                                   int64_t c_stride, const float** pointers, TileSpan* out) {
  size_t count = 0;
  for (int64_t row = 0; row < rows; row += mr) {
    const int64_t tile_rows = std::min<int64_t>(mr, rows - row);
    if (count > 0) out[count - 1].continues = a.stride != 0;
    out[count++] = EvenTile(a, row, tile_rows, c + row * c_stride, pointers);
  }
  return {out, count};
}

std::span<const TileSpan> CutTiles(const RowTiles& tiles, int64_t begin, int64_t end,
                                   const EvenRows& a, float* c, int64_t c_stride,
                                   const float** pointers, TileSpan* out) {
  size_t count = 0;
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t row = tiles.Begin(tile) - tiles.Begin(begin);
    const int64_t rows = tiles.Begin(tile + 1) - tiles.Begin(tile);
    if (count > 0) out[count - 1].continues = a.stride != 0;
    out[count++] = EvenTile(a, row, rows, c + row * c_stride, pointers);
  }
  return {out, count};
}

void FillRowPointers(const float* a, int64_t stride, int64_t rows, const float** out) {
  for (int64_t r = 0; r < rows; ++r) out[r] = a + r * stride;
}

}  // namespace fettle::kernels
