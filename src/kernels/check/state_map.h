// Elements of a tensor in any state, by their logical index.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/state.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

/// Where each element of a shape lies in a state. Immutable.
class StateMap {
 public:
  StateMap(const Shape& shape, const State& state);

  /// Writes elements [begin, begin + count), row-major, to `out`.
  void Read(const std::byte* data, int64_t begin, int64_t count, double* out) const;
  /// The element offset of the first pad lane that is not zero; -1: none.
  int64_t FindDirtyPad(const std::byte* data) const;

 private:
  Shape shape_;
  State state_;
  /// Per axis: the part of the offset that each index contributes, pad lanes included.
  std::vector<std::vector<int64_t>> offsets_;
};

}  // namespace fettle::kernels
