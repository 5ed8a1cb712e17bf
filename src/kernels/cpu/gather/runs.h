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
  const auto move_both = [&]<typename T>() {
    T first, last;
    std::memcpy(&first, from, sizeof(T));
    std::memcpy(&last, from + bytes - sizeof(T), sizeof(T));
    std::memcpy(to, &first, sizeof(T));
    std::memcpy(to + bytes - sizeof(T), &last, sizeof(T));
  };
  if (bytes > 16 || bytes <= 0) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  } else if (bytes >= 8) {
    move_both.operator()<uint64_t>();
  } else if (bytes >= 4) {
    move_both.operator()<uint32_t>();
  } else if (bytes >= 2) {
    move_both.operator()<uint16_t>();
  } else {
    *to = *from;
  }
}

}  // namespace fettle::kernels
