// Rows of a slice and the runs that they are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/move/copy_axis.h"

namespace fettle::kernels {

/// Where rows of a slice begin, counted in row-major order of `axes`; in elements.
struct RowOffsets {
  int64_t from = 0, to = 0;
  RowOffsets(const std::vector<CopyAxis>& axes, int64_t row) {
    for (size_t i = axes.size(); i-- > 0; row /= axes[i].extent) {
      from += row % axes[i].extent * axes[i].src_stride;
      to += row % axes[i].extent * axes[i].dst_stride;
    }
  }
  /// From the row before to `row`.
  void Next(const std::vector<CopyAxis>& axes, int64_t row) {
    if (axes.size() > 1) {
      *this = RowOffsets(axes, row);
    } else if (!axes.empty()) {
      from += axes[0].src_stride;
      to += axes[0].dst_stride;
    }
  }
};

/// Short runs in two moves that overlap: a call takes longer than they do.
inline void CopyRun(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes < 8 || bytes > 16) {
    std::memcpy(to, from, bytes);
    return;
  }
  uint64_t first, last;
  std::memcpy(&first, from, 8);
  std::memcpy(&last, from + bytes - 8, 8);
  std::memcpy(to, &first, 8);
  std::memcpy(to + bytes - 8, &last, 8);
}

}  // namespace fettle::kernels
