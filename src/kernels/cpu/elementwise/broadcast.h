// The loop nest of one element-wise operator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "tensor/shape.h"

namespace fettle::kernels::elementwise {

inline constexpr size_t kMaxTypedOperands = 3;

/// Operands broadcast to a dense output, as rows of one stride per operand. Immutable.
class BroadcastLoop {
 public:
  /// `dims`: the output's physical extents, outermost first; `strides`: of each operand along them.
  /// Each element stands for `weight`: heavier ones make shorter tasks.
  BroadcastLoop(std::vector<int64_t> dims, std::vector<std::vector<int64_t>> strides,
                int64_t weight = 1);

  /// Makes tiles of the innermost dimensions that hold at most `most` elements; at least one
  /// dimension is left. Rows begin and end between two tiles, and stride(i) leads from one to the
  /// next.
  void JoinTile(int64_t most);

  /// Calls row(offsets, n, at): n output elements from `at` on, operand i starting at offsets[i]
  /// and stepping by stride(i); all offsets in elements. Each task makes its `row` by make().
  template <typename Make>
  void RunTasks(CpuStream& stream, Make&& make) const {
    if (elements_ == 0) return;
    stream.ParallelFor(tasks_, [&](int64_t task, int) {
      auto&& row = make();
      const int64_t end = elements_ < (task + 1) * per_task_ ? elements_ : (task + 1) * per_task_;
      int64_t starts[kMaxTypedOperands] = {}, left = 0, column = task * per_task_ % columns_;
      for (int64_t at = task * per_task_; at < end; --left) {
        const int64_t n = end - at < columns_ - column ? end - at : columns_ - column;
        const int64_t tiles = column == 0 ? 0 : column / tile_;
        if (left == 0) {
          left = FindRow(at / columns_, starts);
        } else {
          for (size_t i = 0; i < strides_.size(); ++i) starts[i] += strides_[i][dims_.size() - 2];
        }
        int64_t offsets[kMaxTypedOperands] = {};
        for (size_t i = 0; i < strides_.size(); ++i)
          offsets[i] = starts[i] + tiles * strides_[i].back();
        row(offsets, n, at);
        at += n;
        column = 0;
      }
    });
  }
  /// The same with one `row` for all.
  template <typename F>
  void Run(CpuStream& stream, F&& row) const {
    RunTasks(stream, [&]() -> F& { return row; });
  }

  /// How far operand `i` steps along a row: 0 or more.
  int64_t stride(size_t i) const { return strides_[i].back(); }
  /// Elements of a tile: 1 where JoinTile made none.
  int64_t tile() const { return tile_; }
  /// The dimensions of a tile, and how operand `i` steps along them.
  const std::vector<int64_t>& tile_dims() const { return tile_dims_; }
  const std::vector<int64_t>& tile_strides(size_t i) const { return tile_strides_[i]; }

 private:
  /// Where each operand's row `row` starts. Returns how many rows, this one included, lie a stride
  /// apart from here on.
  int64_t FindRow(int64_t row, int64_t* starts) const;

  std::vector<int64_t> dims_;                  // outermost first; the last one is the row
  std::vector<std::vector<int64_t>> strides_;  // by operand
  std::vector<int64_t> tile_dims_;
  std::vector<std::vector<int64_t>> tile_strides_;
  int64_t tile_ = 1;
  int64_t elements_ = 1, columns_ = 1, tasks_ = 0, per_task_ = 1;
};

}  // namespace fettle::kernels::elementwise
