// GatherElements and ScatterElements as lines of indices that lie side by side.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/gather/indices.h"
#include "tensor/shape.h"

namespace fettle::kernels {

/// Indices of a shape of their own name elements of the data along one axis. Axes that lie in both
/// as one are joined; a line is the innermost one, cut into parts of kPart indices.
class ElementLines {
 public:
  static constexpr int64_t kPart = 16 << 10;

  ElementLines(const Shape& data, const Shape& indices, int axis);

  int64_t parts() const { return lines_ * parts_; }
  /// Of the data, along the axis: elements, and elements from one to the next.
  int64_t extent() const { return extent_; }
  int64_t step() const { return step_; }
  /// Elements of the data from one index of a line to the next; 0 where a line is the axis.
  int64_t along() const { return along_; }

  /// Calls f(first index, how many, offset in the data of the element that index 0 would name) for
  /// each of the parts [begin, end), in order.
  template <typename F>
  void ForEach(int64_t begin, int64_t end, F&& f) const {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t line = part / parts_, from = part % parts_ * kPart;
      int64_t base = from * along_, rest = line;
      for (int axis = static_cast<int>(extents_.size()) - 1; axis >= 0; --axis) {
        base += rest % extents_[axis] * strides_[axis];
        rest /= extents_[axis];
      }
      f(line * length_ + from, std::min(kPart, length_ - from), base);
    }
  }

 private:
  Dims extents_, strides_;  // of the axes before a line; the axis itself has a stride of 0
  int64_t extent_ = 1, step_ = 1, along_ = 0, length_ = 1, lines_ = 1, parts_ = 1;
};

}  // namespace fettle::kernels
