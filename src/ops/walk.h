// How oracles walk strided views: regions of row-major coordinates, reduced axes, rows whose
// statistics are shared.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace fettle::ops {

/// One flag per axis: whether an operator reduces or normalises over it.
using AxisMask = std::vector<bool>;

/// Element strides of `view` read as a tensor of `shape` (NumPy broadcasting): 0 where it repeats.
/// The shapes must broadcast.
Dims BroadcastStrides(const HostView& view, const Shape& shape);
/// `strides` with those of the masked axes set to 0: offsets of the first element of each row.
Dims RowStrides(const Dims& strides, const AxisMask& mask);
/// Offsets of all elements of one row (the masked axes), relative to its first element, row-major.
std::vector<int64_t> RowOffsets(const HostView& view, const AxisMask& mask);

/// Steps through the row-major coordinates of a shape and keeps the element offset of several
/// operands.
class Walker {
 public:
  /// `strides`: one set per operand, with one stride per axis of `shape`. Starts at row-major
  /// element `begin`.
  Walker(const Shape& shape, std::vector<Dims> strides, int64_t begin);

  /// The element offset of operand `i`.
  int64_t operator[](size_t i) const { return offsets_[i]; }
  const Dims& coordinate() const { return coordinate_; }

  void Next() {
    for (size_t axis = extent_.size(); axis-- > 0;) {
      for (size_t i = 0; i < offsets_.size(); ++i) offsets_[i] += strides_[i][axis];
      if (++coordinate_[axis] < extent_[axis]) return;
      coordinate_[axis] = 0;
      for (size_t i = 0; i < offsets_.size(); ++i) offsets_[i] -= strides_[i][axis] * extent_[axis];
    }
  }

 private:
  Dims extent_;
  std::vector<Dims> strides_;
  Dims coordinate_;
  std::vector<int64_t> offsets_;
};

/// Values that many elements of a region share, computed once per row: keyed by the row's offset.
template <typename T>
class RowMemo {
 public:
  template <typename F>
  const T& At(int64_t row, F&& compute) {
    if (last_ != nullptr && row == last_row_) return *last_;
    auto it = rows_.find(row);
    if (it == rows_.end()) it = rows_.emplace(row, std::forward<F>(compute)()).first;
    last_row_ = row;
    last_ = &it->second;
    return *last_;
  }

 private:
  std::unordered_map<int64_t, T> rows_;
  int64_t last_row_ = 0;
  const T* last_ = nullptr;
};

}  // namespace fettle::ops
