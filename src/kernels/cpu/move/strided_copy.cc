#include "kernels/cpu/move/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "kernels/cpu/move/tile_transpose.h"

namespace fettle::kernels {
namespace {

/// Enough to hide what a task begins with, small enough to be shared evenly.
constexpr int64_t kTaskBytes = 16 << 10;
/// Shorter runs are copied element by element: a call of memcpy costs more than they do.
constexpr int64_t kRunBytes = 32;

/// A 16-byte element, for runs that are merged into one.
struct Bytes16 {
  uint64_t low, high;
};
template <size_t size>
using ByteArray = std::array<std::byte, size>;

/// The wide element at any address: rows of images need not be aligned to it.
template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <typename T>
void Store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

/// Contiguous runs of fewer than kRunBytes bytes: two moves each, which overlap inside the run.
template <typename T>
void CopyShortRuns(const std::byte* src, std::byte* dst, int64_t src_step, int64_t dst_step,
                   int64_t runs, int64_t bytes) {
  const int64_t tail = bytes - static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < runs; ++i) {
    const T first = Load<T>(src + i * src_step), last = Load<T>(src + i * src_step + tail);
    Store(dst + i * dst_step, first);
    Store(dst + i * dst_step + tail, last);
  }
}

/// The same for any length that two moves reach; false for others.
bool CopyRuns(const std::byte* src, std::byte* dst, int64_t src_step, int64_t dst_step,
              int64_t runs, int64_t bytes) {
  if (bytes >= 16) {
    CopyShortRuns<Bytes16>(src, dst, src_step, dst_step, runs, bytes);
  } else if (bytes >= 8) {
    CopyShortRuns<uint64_t>(src, dst, src_step, dst_step, runs, bytes);
  } else if (bytes >= 4) {
    CopyShortRuns<uint32_t>(src, dst, src_step, dst_step, runs, bytes);
  } else {
    return false;
  }
  return true;
}

/// One value into contiguous runs of up to 128 bytes: pad lanes are these. False for longer ones.
template <typename T>
bool FillRuns(T value, std::byte* dst, int64_t dst_step, int64_t runs, int64_t bytes) {
  alignas(64) T pattern[128 / sizeof(T)];
  std::fill(std::begin(pattern), std::end(pattern), value);
  const auto* src = reinterpret_cast<const std::byte*>(pattern);
  if (bytes < kRunBytes) return CopyRuns(src, dst, 0, dst_step, runs, bytes);
  if (bytes > 128) return false;
  bytes > 64 ? CopyShortRuns<ByteArray<64>>(src, dst, 0, dst_step, runs, bytes)
             : CopyShortRuns<ByteArray<32>>(src, dst, 0, dst_step, runs, bytes);
  return true;
}

template <typename T>
void CopyElements(const std::byte* src, std::byte* dst, const CopyAxis& row, const CopyAxis& column,
                  int64_t rows, int64_t columns) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t src_step = column.src_stride * kSize, dst_step = column.dst_stride * kSize;
  if (src_step == kSize && dst_step == kSize && columns * kSize < kRunBytes && rows > 1 &&
      CopyRuns(src, dst, row.src_stride * kSize, row.dst_stride * kSize, rows, columns * kSize)) {
    return;
  }
  if (src_step == 0 && row.src_stride == 0 && dst_step == kSize && rows > 1 &&
      FillRuns(Load<T>(src), dst, row.dst_stride * kSize, rows, columns * kSize)) {
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const std::byte* from = src + r * row.src_stride * kSize;
    std::byte* to = dst + r * row.dst_stride * kSize;
    if (src_step == 0 && dst_step == kSize) {
      const T value = Load<T>(from);
      for (int64_t c = 0; c < columns; ++c) Store(to + c * kSize, value);
    } else if (src_step == kSize && dst_step == kSize) {
      for (int64_t c = 0; c < columns; ++c) Store(to + c * kSize, Load<T>(from + c * kSize));
    } else if (src_step == 2 * kSize && dst_step == kSize) {
      for (int64_t c = 0; c < columns; ++c) Store(to + c * kSize, Load<T>(from + c * 2 * kSize));
    } else if (dst_step == kSize) {
      for (int64_t c = 0; c < columns; ++c) Store(to + c * kSize, Load<T>(from + c * src_step));
    } else {
      for (int64_t c = 0; c < columns; ++c) Store(to + c * dst_step, Load<T>(from + c * src_step));
    }
  }
}

/// Planes of rows of contiguous runs; steps in bytes.
struct RunGrid {
  int64_t planes, rows;
  int64_t src_plane, dst_plane, src_row, dst_row;
};

/// Runs of one length that the compiler knows: blocks of lanes are mostly one of these, and a call
/// of memcpy costs as much as the shortest.
template <size_t bytes>
void CopyFixedRuns(const std::byte* src, std::byte* dst, const RunGrid& grid) {
  for (int64_t p = 0; p < grid.planes; ++p, src += grid.src_plane, dst += grid.dst_plane) {
    for (int64_t r = 0; r < grid.rows; ++r)
      std::memcpy(dst + r * grid.dst_row, src + r * grid.src_row, bytes);
  }
}

void CopyLongRuns(const std::byte* src, std::byte* dst, const RunGrid& grid, int64_t bytes) {
  switch (bytes) {
    case 32: return CopyFixedRuns<32>(src, dst, grid);
    case 64: return CopyFixedRuns<64>(src, dst, grid);
    case 128: return CopyFixedRuns<128>(src, dst, grid);
    default: break;
  }
  for (int64_t p = 0; p < grid.planes; ++p, src += grid.src_plane, dst += grid.dst_plane) {
    for (int64_t r = 0; r < grid.rows; ++r)
      std::memcpy(dst + r * grid.dst_row, src + r * grid.src_row, bytes);
  }
}

/// Whether both sides continue `outer` where `inner` ends.
bool Continues(const CopyAxis& outer, const CopyAxis& inner) {
  return outer.src_stride == inner.src_stride * inner.extent &&
         outer.dst_stride == inner.dst_stride * inner.extent;
}

}  // namespace

StridedCopy::StridedCopy(int64_t element_bytes, std::vector<CopyAxis> axes, int64_t src_offset,
                         int64_t dst_offset)
    : element_bytes_(element_bytes),
      axes_(std::move(axes)),
      src_offset_(src_offset),
      dst_offset_(dst_offset) {
  FETTLE_CHECK(axes_.size() <= kMaxCopyAxes, "too many axes to copy over");
  for (const CopyAxis& axis : axes_) {
    if (axis.extent == 0) return;
  }
  Normalise();
  Widen();
  ChooseLeaf();
  Split();
}

/// Drops axes of one element, orders the rest by the destination and merges those that run on.
void StridedCopy::Normalise() {
  std::erase_if(axes_, [](const CopyAxis& axis) { return axis.extent == 1; });
  std::stable_sort(axes_.begin(), axes_.end(), [](const CopyAxis& a, const CopyAxis& b) {
    return a.dst_stride > b.dst_stride;
  });
  std::vector<CopyAxis> merged;
  for (const CopyAxis& axis : axes_) {
    if (!merged.empty() && Continues(merged.back(), axis)) {
      merged.back() = {merged.back().extent * axis.extent, axis.src_stride, axis.dst_stride};
    } else {
      merged.push_back(axis);
    }
  }
  axes_ = std::move(merged);
}

/// Makes one element of a short run that is contiguous on both sides, where all strides allow it:
/// the axes outside it then have a stride of 1 to work with.
void StridedCopy::Widen() {
  if (axes_.size() < 2) return;
  const CopyAxis run = axes_.back();
  const int64_t bytes = run.extent * element_bytes_;
  const bool is_power = bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
  if (run.src_stride != 1 || run.dst_stride != 1 || !is_power) return;
  for (size_t i = 0; i + 1 < axes_.size(); ++i) {
    if (axes_[i].src_stride % run.extent != 0 || axes_[i].dst_stride % run.extent != 0) return;
  }
  if (src_offset_ % run.extent != 0 || dst_offset_ % run.extent != 0) return;
  axes_.pop_back();
  for (CopyAxis& axis : axes_) {
    axis.src_stride /= run.extent;
    axis.dst_stride /= run.extent;
  }
  src_offset_ /= run.extent;
  dst_offset_ /= run.extent;
  element_bytes_ = bytes;
}

/// The leaf is the two innermost axes of the destination, or, where the source is contiguous along
/// another axis, that one and the innermost: a matrix to transpose.
void StridedCopy::ChooseLeaf() {
  while (axes_.size() < 2) axes_.insert(axes_.begin(), CopyAxis{1, 0, 0});
  const CopyAxis& column = axes_.back();
  if (column.src_stride == 1 && column.dst_stride == 1) {
    leaf_ = column.extent * element_bytes_ >= kRunBytes ? Leaf::kRows : Leaf::kElements;
  } else if (column.dst_stride == 1 && column.src_stride != 0 && element_bytes_ <= 8) {
    const auto last = axes_.end() - 1;
    const auto source = std::find_if(axes_.begin(), last, [](const CopyAxis& axis) {
      return axis.src_stride == 1 && axis.extent > 1;
    });
    if (source != last) {
      std::rotate(source, source + 1, last);
      leaf_ = Leaf::kTiles;
    }
  }
  outer_ = 1;
  for (size_t i = 0; i + 2 < axes_.size(); ++i) outer_ *= axes_[i].extent;
}

void StridedCopy::Split() {
  const int64_t rows = axes_[axes_.size() - 2].extent, columns = axes_.back().extent;
  const int64_t leaf_bytes = rows * columns * element_bytes_;
  split_rows_ = rows > 1;
  const int64_t extent = split_rows_ ? rows : columns;
  if (leaf_bytes > kTaskBytes) {
    // Whole transpose blocks and cache lines per task.
    const int64_t parts = (leaf_bytes + kTaskBytes - 1) / kTaskBytes;
    chunk_ = std::min(extent, ((extent + parts - 1) / parts + 63) / 64 * 64);
    chunks_ = (extent + chunk_ - 1) / chunk_;
    tasks_ = outer_ * chunks_;
  } else {
    chunk_ = extent;
    leaves_ = std::max<int64_t>(1, kTaskBytes / leaf_bytes);
    tasks_ = (outer_ + leaves_ - 1) / leaves_;
  }
}

/// `planes` neighbouring leaves along the axis outside the leaf.
void StridedCopy::CopyLeaves(const std::byte* src, std::byte* dst, int64_t planes, int64_t rows,
                             int64_t columns) const {
  const CopyAxis &row = axes_[axes_.size() - 2], &column = axes_.back();
  const CopyAxis plane = axes_.size() > 2 ? axes_[axes_.size() - 3] : CopyAxis{1, 0, 0};
  const RunGrid grid{planes,
                     rows,
                     plane.src_stride * element_bytes_,
                     plane.dst_stride * element_bytes_,
                     row.src_stride * element_bytes_,
                     row.dst_stride * element_bytes_};
  if (leaf_ == Leaf::kRows) {
    CopyLongRuns(src, dst, grid, columns * element_bytes_);
    return;
  }
  for (int64_t p = 0; p < planes; ++p)
    CopyLeaf(src + p * grid.src_plane, dst + p * grid.dst_plane, row, column, rows, columns);
}

void StridedCopy::CopyLeaf(const std::byte* src, std::byte* dst, const CopyAxis& row,
                           const CopyAxis& column, int64_t rows, int64_t columns) const {
  const auto dispatch = [&](auto&& f) {
    switch (element_bytes_) {
      case 1: f.template operator()<uint8_t>(); return;
      case 2: f.template operator()<uint16_t>(); return;
      case 4: f.template operator()<uint32_t>(); return;
      case 8: f.template operator()<uint64_t>(); return;
      default: f.template operator()<Bytes16>(); return;
    }
  };
  if (leaf_ == Leaf::kTiles) {
    dispatch([&]<typename T>() {
      if constexpr (sizeof(T) <= 8) {
        // Rows of the leaf are contiguous in the source, its columns in the destination.
        TransposeMatrix(reinterpret_cast<const T*>(src), column.src_stride,
                        reinterpret_cast<T*>(dst), row.dst_stride, columns, rows);
      }
    });
  } else {
    dispatch([&]<typename T>() { CopyElements<T>(src, dst, row, column, rows, columns); });
  }
}

void StridedCopy::Run(const std::byte* src, std::byte* dst, int64_t task) const {
  const int64_t first = task / chunks_ * leaves_;
  const int64_t last = std::min(first + leaves_, outer_);
  const int64_t begin = task % chunks_ * chunk_;
  const CopyAxis &row = axes_[axes_.size() - 2], &column = axes_.back();
  const CopyAxis& cut = split_rows_ ? row : column;
  const int64_t count = std::min(chunk_, cut.extent - begin);
  const int64_t rows = split_rows_ ? count : row.extent;
  const int64_t columns = split_rows_ ? column.extent : count;
  int64_t from = src_offset_ + begin * cut.src_stride, to = dst_offset_ + begin * cut.dst_stride;
  int64_t coordinate[kMaxCopyAxes];
  int64_t rest = first;
  for (size_t i = axes_.size() - 2; i-- > 0;) {
    coordinate[i] = rest % axes_[i].extent;
    rest /= axes_[i].extent;
    from += coordinate[i] * axes_[i].src_stride;
    to += coordinate[i] * axes_[i].dst_stride;
  }
  const size_t outer = axes_.size() - 2;
  for (int64_t leaf = first; leaf < last;) {
    int64_t planes = 1;
    if (outer > 0) {
      const size_t i = outer - 1;
      planes = std::min(last - leaf, axes_[i].extent - coordinate[i]);
      coordinate[i] += planes - 1;  // the last of them; the loop below goes on from it
    }
    CopyLeaves(src + from * element_bytes_, dst + to * element_bytes_, planes, rows, columns);
    leaf += planes;
    if (outer > 0) {
      from += (planes - 1) * axes_[outer - 1].src_stride;
      to += (planes - 1) * axes_[outer - 1].dst_stride;
    }
    for (size_t i = outer; i-- > 0;) {
      from += axes_[i].src_stride;
      to += axes_[i].dst_stride;
      if (++coordinate[i] < axes_[i].extent) break;
      coordinate[i] = 0;
      from -= axes_[i].extent * axes_[i].src_stride;
      to -= axes_[i].extent * axes_[i].dst_stride;
    }
  }
}

}  // namespace fettle::kernels
