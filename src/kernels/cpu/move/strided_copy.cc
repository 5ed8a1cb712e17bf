#include "kernels/cpu/move/strided_copy.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "kernels/cpu/move/copy_leaf.h"

namespace fettle::kernels {
namespace {

/// Enough to hide what a task begins with, small enough to be shared evenly.
constexpr int64_t kTaskBytes = 16 << 10;
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

namespace {

/// Goes from leaf to leaf over the axes outside it.
class LeafWalk {
 public:
  LeafWalk(std::span<const CopyAxis> axes, int64_t leaf) : axes_(axes) {
    for (size_t i = axes.size(); i-- > 0;) {
      coordinate_[i] = leaf % axes[i].extent;
      leaf /= axes[i].extent;
      Move(i, coordinate_[i]);
    }
  }
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }

  /// Leaves from here on along the innermost axis, at most `most`.
  int64_t Neighbours(int64_t most) const {
    return axes_.empty() ? 1 : std::min(most, axes_.back().extent - coordinate_[axes_.size() - 1]);
  }
  /// By as many as Neighbours() says, or fewer.
  void Advance(int64_t leaves) {
    for (size_t i = axes_.size(); i-- > 0; leaves = 1) {
      Move(i, leaves);
      coordinate_[i] += leaves;
      if (coordinate_[i] < axes_[i].extent) return;
      Move(i, -coordinate_[i]);
      coordinate_[i] = 0;
    }
  }

 private:
  void Move(size_t axis, int64_t steps) {
    from_ += steps * axes_[axis].src_stride;
    to_ += steps * axes_[axis].dst_stride;
  }

  std::span<const CopyAxis> axes_;
  int64_t coordinate_[kMaxCopyAxes];
  int64_t from_ = 0, to_ = 0;
};

}  // namespace

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
  const auto copy = leaf_ == Leaf::kTiles ? CopyTransposed : CopyElements;
  for (int64_t p = 0; p < planes; ++p)
    copy(src + p * grid.src_plane, dst + p * grid.dst_plane, row, column, rows, columns,
         element_bytes_);
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
  src += (src_offset_ + begin * cut.src_stride) * element_bytes_;
  dst += (dst_offset_ + begin * cut.dst_stride) * element_bytes_;
  LeafWalk at({axes_.data(), axes_.size() - 2}, first);
  for (int64_t leaf = first; leaf < last;) {
    const int64_t planes = at.Neighbours(last - leaf);
    CopyLeaves(src + at.from() * element_bytes_, dst + at.to() * element_bytes_, planes, rows,
               columns);
    leaf += planes;
    at.Advance(planes);
  }
}

}  // namespace fettle::kernels
