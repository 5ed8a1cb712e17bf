#include "kernels/check/state_map.h"

#include <algorithm>
#include <utility>

namespace fettle::kernels {
namespace {

/// The extent of `axis` with its pad lanes.
int64_t PaddedExtent(const Shape& shape, const Layout& layout, int axis) {
  const int64_t block = layout.BlockOf(axis);
  return (shape[axis] + block - 1) / block * block;
}

/// Calls f(offset) for the combinations of indices [ranges.first, ranges.second) of all axes, until
/// it returns true. Returns whether it did.
template <typename F>
bool AnyOffset(const std::vector<std::vector<int64_t>>& offsets,
               const std::vector<std::pair<int64_t, int64_t>>& ranges, size_t axis, int64_t base,
               const F& f) {
  if (axis == offsets.size()) return f(base);
  for (int64_t i = ranges[axis].first; i < ranges[axis].second; ++i) {
    if (AnyOffset(offsets, ranges, axis + 1, base + offsets[axis][i], f)) return true;
  }
  return false;
}

}  // namespace

StateMap::StateMap(const Shape& shape, const State& state) : shape_(shape), state_(state) {
  const OffsetMap map(shape, state.layout);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::vector<int64_t>& offsets = offsets_.emplace_back();
    const int64_t extent = PaddedExtent(shape, state.layout, axis);
    for (int64_t i = 0; i < extent; ++i) offsets.push_back(map.AxisOffset(axis, i));
  }
}

void StateMap::Read(const std::byte* data, int64_t begin, int64_t count, double* out) const {
  if (count == 0) return;
  const size_t rank = shape_.rank();
  std::vector<int64_t> at(rank);
  Unravel(begin, shape_, at);
  DispatchDType(state_.storage, [&]<typename T>() {
    const T* elements = reinterpret_cast<const T*>(data);
    if (rank == 0) {
      *out = static_cast<double>(Widen(elements[0]));
      return;
    }
    const std::vector<int64_t>& inner = offsets_[rank - 1];
    while (count > 0) {
      int64_t base = 0;
      for (size_t axis = 0; axis + 1 < rank; ++axis) base += offsets_[axis][at[axis]];
      const int64_t row = std::min(count, shape_[shape_.rank() - 1] - at[rank - 1]);
      for (int64_t i = 0; i < row; ++i)
        *out++ = static_cast<double>(Widen(elements[base + inner[at[rank - 1] + i]]));
      count -= row;
      at[rank - 1] = 0;
      for (size_t axis = rank - 1; axis-- > 0;) {
        if (++at[axis] < shape_[static_cast<int>(axis)]) break;
        at[axis] = 0;
      }
    }
  });
}

int64_t StateMap::FindDirtyPad(const std::byte* data) const {
  const int64_t size = StorageBytes(state_.storage, 1);
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const std::vector<int64_t>& offsets : offsets_)
    ranges.emplace_back(0, static_cast<int64_t>(offsets.size()));
  int64_t dirty = -1;
  const auto is_dirty = [&](int64_t offset) {
    const std::byte* element = data + StorageBytes(state_.storage, offset);
    if (std::all_of(element, element + size, [](std::byte b) { return b == std::byte{0}; }))
      return false;
    dirty = offset;
    return true;
  };
  for (int axis = 0; axis < shape_.rank(); ++axis) {
    auto& range = ranges[axis];
    const auto whole = range;
    range.first = shape_[axis];
    if (range.first < range.second && AnyOffset(offsets_, ranges, 0, 0, is_dirty)) return dirty;
    range = whole;
  }
  return -1;
}

}  // namespace fettle::kernels
