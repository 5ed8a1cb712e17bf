// Walks and moves elements: shared by the oracles of operators that compute nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/op.h"
#include "tensor/tensor.h"

namespace fettle::ops {

/// Calls `f.template operator()<U>()` with the unsigned integer as wide as an element of `dtype`
/// (1, 2, 4 or 8 bytes).
template <typename F>
void DispatchElementSize(DType dtype, F&& f) {
  switch (ByteSize(dtype)) {
    case 1: f.template operator()<uint8_t>(); return;
    case 2: f.template operator()<uint16_t>(); return;
    case 4: f.template operator()<uint32_t>(); return;
    default: f.template operator()<uint64_t>(); return;
  }
}

/// Calls f(index, coordinate) for the row-major elements of `shape` in `region`, in order.
template <typename F>
void ForEachCoordinate(const Shape& shape, const Region& region, F&& f) {
  if (region.begin >= region.end) return;
  std::vector<int64_t> coordinate(shape.rank());
  Unravel(region.begin, shape, coordinate);
  for (int64_t index = region.begin;;) {
    f(index, std::span<const int64_t>(coordinate));
    if (++index == region.end) return;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++coordinate[axis] < shape[axis]) break;
      coordinate[axis] = 0;
    }
  }
}

/// out[c] = in[source(index, c)] for the region of `out`; `source` gives element offsets.
template <typename F>
void MoveElements(const HostView& in, const HostView& out, const Region& region, F&& source) {
  DispatchElementSize(out.dtype, [&]<typename U>() {
    const U* from = in.as<U>();
    U* to = out.as<U>();
    ForEachCoordinate(out.shape, region, [&](int64_t index, std::span<const int64_t> coordinate) {
      to[out.Offset(coordinate)] = from[source(index, coordinate)];
    });
  });
}

/// Copies a whole view to one of equal shape and type.
inline void CopyView(const HostView& in, const HostView& out) {
  MoveElements(in, out, {0, out.shape.elements()},
               [&](int64_t, std::span<const int64_t> coordinate) { return in.Offset(coordinate); });
}

/// The indices [begin, end) that a region touches on each axis of `shape`, so that tables per axis
/// stay as small as the region.
struct IndexRange {
  int64_t begin = 0, end = 0;
};
inline std::vector<IndexRange> IndexRanges(const Shape& shape, const Region& region) {
  const size_t rank = shape.rank();
  std::vector<IndexRange> ranges(rank);
  if (region.begin >= region.end) return ranges;
  std::vector<int64_t> first(rank), last(rank);
  Unravel(region.begin, shape, first);
  Unravel(region.end - 1, shape, last);
  bool same = true;  // up to the first axis that differs, the region stays at one index
  for (size_t i = 0; i < rank; ++i) {
    ranges[i] = {same ? first[i] : 0, same ? last[i] + 1 : shape[static_cast<int>(i)]};
    same = same && first[i] == last[i];
  }
  return ranges;
}

/// All elements of a small integer view, row-major; empty for an absent operand.
inline std::vector<int64_t> IntsOf(const HostView& view) {
  std::vector<int64_t> ints;
  if (view.data == nullptr) return ints;
  ForEachCoordinate(view.shape, {0, view.shape.elements()},
                    [&](int64_t, std::span<const int64_t> coordinate) {
                      ints.push_back(view.GetInt(view.Offset(coordinate)));
                    });
  return ints;
}

/// All elements of a small view as doubles, row-major; empty for an absent operand.
inline std::vector<double> DoublesOf(const HostView& view) {
  std::vector<double> doubles;
  if (view.data == nullptr) return doubles;
  doubles.reserve(view.shape.elements());
  ForEachCoordinate(view.shape, {0, view.shape.elements()},
                    [&](int64_t, std::span<const int64_t> coordinate) {
                      doubles.push_back(view.GetDouble(view.Offset(coordinate)));
                    });
  return doubles;
}

}  // namespace fettle::ops
