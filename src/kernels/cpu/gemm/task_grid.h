// A product as a grid of tasks of nearly equal size.
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

}  // namespace fettle::kernels
