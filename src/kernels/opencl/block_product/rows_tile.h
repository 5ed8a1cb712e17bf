// How work-items share few rows times weights in blocks (block_product/rows.cl).
#pragma once

#include <algorithm>

#include "kernels/fields.h"
#include "kernels/opencl/block_product/block_weights.h"
#include "kernels/opencl/one_row/warps.h"

namespace fettle::kernels {

/// Work-items of a group, those that share a row of weights, and rows that each sums at a time.
struct RowsTile {
  int64_t items = 128, lanes = 32, columns = 4;

  int64_t group_columns() const { return items / lanes * columns; }
};
inline constexpr Fields kRowsFields("block_product/rows.cl",
                                    Field{"items", &RowsTile::items, {32, 64, 128, 256}, "ITEMS"},
                                    Field{"lanes", &RowsTile::lanes, {8, 16, 32, 64}, "LANES"},
                                    Field{"columns", &RowsTile::columns, {1, 2, 4, 8}, "COLUMNS"});

inline int64_t SumBytes(const BlockFacts& facts, const RowsTile& tile) {
  return facts.p.rows * tile.columns * tile.items * 4;
}

/// What a row takes in local memory where the work-group rounds it.
inline int64_t OwnBytes(const BlockFacts& facts) { return facts.units() * 40; }

inline bool RoundsItself(const BlockFacts& facts, const RowsTile& tile, const OpenClFacts& of) {
  return facts.p.rows == 1 && SumBytes(facts, tile) + OwnBytes(facts) <= of.local_bytes;
}

inline Status CheckRowsTile(const BlockFacts& facts, const RowsTile& tile, const OpenClFacts& of) {
  if (tile.lanes > tile.items) return InvalidArgument("lanes: expected at most {}", tile.items);
  if (tile.items > std::min(of.max_work_group_size, of.max_work_item_sizes[0]))
    return Unsupported("{} work-items: the device takes fewer", tile.items);
  if (SumBytes(facts, tile) > of.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", SumBytes(facts, tile),
                       of.local_bytes);
  return OkStatus();
}

inline constexpr RowsTile kLeastRowsTile{.items = 32, .lanes = 32, .columns = 1};

/// Of one row where lanes are a warp (lanes.clh): a work-item holds eight units of weights, all of
/// its columns' where that goes, and groups are large, as each rounds the row.
inline RowsTile WarpRowsTile(const BlockFacts& facts, int64_t n, const OpenClFacts& of) {
  RowsTile tile{.items = 256, .lanes = 32, .columns = 4};
  const int64_t steps = DivideUp(facts.units(), tile.lanes);
  const auto groups = [&] { return DivideUp(n, tile.group_columns()); };
  while (tile.columns > 1 && (tile.columns * steps > 8 || groups() < 2 * of.compute_units))
    tile.columns /= 2;
  while (tile.items > 64 && groups() < of.compute_units) tile.items /= 2;
  return tile;
}

/// Work-groups that take `tiles` by turns, so that each rounds the row once.
inline int64_t LaunchedGroups(const RowsTile& tile, int64_t tiles, const OpenClFacts& of) {
  const bool holds_many = TakesPtx(of) && tile.items == 256 && tile.columns >= 4;
  return holds_many ? std::min<int64_t>(tiles, 2 * of.compute_units) : tiles;
}

/// Of `n` columns in all: as many to a work-item as leave each compute unit two groups; many rows
/// have sums enough.
inline RowsTile UsualRowsTile(const BlockFacts& facts, int64_t n, const OpenClFacts& of) {
  RowsTile tile;
  if (facts.p.rows == 1 && TakesPtx(of)) {
    const RowsTile warps = WarpRowsTile(facts, n, of);
    if (CheckRowsTile(facts, warps, of).ok() && RoundsItself(facts, warps, of)) return warps;
  }
  while (tile.columns > 1 && tile.columns * facts.p.rows > 32) tile.columns /= 2;
  while (tile.lanes > 8 && tile.lanes > facts.units()) tile.lanes /= 2;
  const auto groups = [&] { return DivideUp(n, tile.group_columns()); };
  while (tile.columns > 1 && groups() < 2 * of.compute_units) tile.columns /= 2;
  while (tile.items > 64 && groups() < of.compute_units) tile.items /= 2;
  return CheckRowsTile(facts, tile, of).ok() ? tile : kLeastRowsTile;
}

}  // namespace fettle::kernels
