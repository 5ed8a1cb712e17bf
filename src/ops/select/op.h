// Operators that pick or reorder elements by their values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace fettle::ops {

/// The entries of axis `axis` that Unique keeps, in output order: entries are slices across the
/// other axes (whole elements of the flattened tensor where there is no axis).
struct UniqueEntries {
  std::vector<int64_t> first;    // input position of each kept entry
  std::vector<int64_t> inverse;  // kept entry of each input position
  std::vector<int64_t> counts;
};
UniqueEntries FindUnique(const HostView& x, bool has_axis, int axis, bool sorted);

/// The coordinates of the elements that are not zero, row-major, one after the other.
std::vector<int64_t> FindNonZero(const HostView& x);

/// TopK's strict order of values: the larger (or the smaller) first; NaN counts as the largest.
template <typename T>
bool ComesFirst(T a, T b, bool largest) {
  const Wide<T> left = Widen(a), right = Widen(b);
  const bool left_nan = left != left, right_nan = right != right;
  if (left_nan || right_nan) return largest ? left_nan && !right_nan : right_nan && !left_nan;
  return largest ? left > right : left < right;
}

}  // namespace fettle::ops
