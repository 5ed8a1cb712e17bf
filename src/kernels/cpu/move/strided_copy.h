// Copying between two strided windows of host memory: the one loop nest under all data movement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/move/copy_axis.h"

namespace fettle::kernels {

/// dst[sum c_i * dst_stride_i] = src[sum c_i * src_stride_i] for all coordinates c: made ready
/// once, split into tasks that write distinct elements. Destination strides are positive and name
/// each element once. Immutable.
class StridedCopy {
 public:
  /// `element_bytes`: 1, 2, 4 or 8; at most kMaxCopyAxes axes. Offsets (in elements) of the first
  /// element on both sides.
  StridedCopy(int64_t element_bytes, std::vector<CopyAxis> axes, int64_t src_offset,
              int64_t dst_offset);

  /// Tasks of about kTaskBytes each; 0 where there is nothing to copy.
  int64_t tasks() const { return tasks_; }
  /// `src` and `dst` are the bases that the offsets count from; any alignment.
  void Run(const std::byte* src, std::byte* dst, int64_t task) const;

 private:
  enum class Leaf { kRows, kTiles, kElements };

  void Normalise();
  void Widen();
  void ChooseLeaf();
  void Split();
  void CopyLeaves(const std::byte* src, std::byte* dst, int64_t planes, int64_t rows,
                  int64_t columns) const;

  int64_t element_bytes_;
  std::vector<CopyAxis> axes_;  // outermost first; the last two are the leaf's rows and columns
  int64_t src_offset_, dst_offset_;
  Leaf leaf_ = Leaf::kElements;
  int64_t outer_ = 1;       // product of the extents before the leaf
  bool split_rows_ = true;  // whether tasks split the leaf's rows or its columns
  int64_t chunk_ = 1;       // rows or columns of a task
  int64_t chunks_ = 1;      // tasks per leaf
  int64_t leaves_ = 1;      // leaves per task, where a leaf is small
  int64_t tasks_ = 0;
};

}  // namespace fettle::kernels
