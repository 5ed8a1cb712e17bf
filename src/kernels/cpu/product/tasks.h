// How products are cut into tasks of nearly equal size, which lanes share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"

namespace fettle::kernels {

/// `all` units in as few parts of at most `most` as there can be, whose sizes differ by one at
/// most. Larger and smaller parts alternate, so that an even number of neighbouring parts halves
/// them, too: of parts that are all as large as can be but the last, one lane has up to a quarter
/// more than the other.
class EvenParts {
 public:
  EvenParts(int64_t all, int64_t most)
      : all_(all), count_(CeilDiv(all, std::max<int64_t>(most, 1))) {}
  int64_t count() const { return count_; }
  /// The first unit of `part`; that of count() is the number of units.
  int64_t Begin(int64_t part) const { return count_ == 0 ? 0 : part * all_ / count_; }

 private:
  int64_t all_, count_;
};

/// The tasks of a product of `runs` times `rows` rows by `panels` panels: a task has rows of one
/// run, from a multiple of Blocking::tile_rows of it on. Neighbouring tasks have the same rows.
class TaskGrid {
 public:
  struct Task {
    int64_t row, rows;  // rows count over all runs
    int64_t panel, panel_end;
  };

  /// Panels are cut at multiples of `together`.
  TaskGrid(int64_t runs, int64_t rows, int64_t panels, const Blocking& blocking,
           int64_t together = 1)
      : runs_(runs),
        rows_(rows),
        panels_(panels),
        together_(together),
        tile_rows_(blocking.tile_rows),
        row_parts_(CeilDiv(rows, tile_rows_), blocking.rows / tile_rows_),
        panel_parts_(CeilDiv(panels, together), blocking.panels / together) {}
  int64_t count() const { return runs_ * row_parts_.count() * panel_parts_.count(); }
  Task At(int64_t task) const {
    const int64_t column = task % panel_parts_.count(), row = task / panel_parts_.count();
    const int64_t run = row / row_parts_.count(), part = row % row_parts_.count();
    const int64_t begin = row_parts_.Begin(part) * tile_rows_,
                  end = std::min(row_parts_.Begin(part + 1) * tile_rows_, rows_);
    return {run * rows_ + begin, end - begin, panel_parts_.Begin(column) * together_,
            std::min(panel_parts_.Begin(column + 1) * together_, panels_)};
  }

 private:
  int64_t runs_, rows_, panels_, together_, tile_rows_;
  EvenParts row_parts_, panel_parts_;
};

/// The tasks of as many products of equal size, one behind the other, whose rows are cut into
/// tiles: a task has tiles of one product by panels of it. Neighbouring tasks have the same rows.
class TileGrid {
 public:
  struct Task {
    int64_t product, first_tile, end_tile;
    int64_t row, rows;  // of the product
    int64_t panel, panel_end;
  };

  /// Tasks have at most `most_tiles` tiles and `most_panels` panels.
  TileGrid(int64_t products, const RowTiles& tiles, int64_t most_tiles, int64_t panels,
           int64_t most_panels)
      : products_(products),
        tiles_(tiles),
        row_parts_(tiles.count(), most_tiles),
        panel_parts_(panels, most_panels) {}
  int64_t count() const { return products_ * row_parts_.count() * panel_parts_.count(); }
  Task At(int64_t task) const {
    const int64_t column = task % panel_parts_.count(), row = task / panel_parts_.count();
    const int64_t product = row / row_parts_.count(), part = row % row_parts_.count();
    const int64_t first = row_parts_.Begin(part), end = row_parts_.Begin(part + 1);
    return {product,
            first,
            end,
            tiles_.Begin(first),
            tiles_.Begin(end) - tiles_.Begin(first),
            panel_parts_.Begin(column),
            panel_parts_.Begin(column + 1)};
  }

 private:
  int64_t products_;
  RowTiles tiles_;
  EvenParts row_parts_, panel_parts_;
};

/// Calls f(group, first, end) for the groups of which panels [panel, panel_end) are, counted over
/// groups of `panels` panels each: those of the group are [first, end) of its own.
template <typename F>
void ForEachGroup(int64_t panel, int64_t panel_end, int64_t panels, const F& f) {
  while (panel < panel_end) {
    const int64_t group = panel / panels, first = panel % panels;
    const int64_t end = std::min(first + panel_end - panel, panels);
    f(group, first, end);
    panel += end - first;
  }
}

}  // namespace fettle::kernels
